/** A tree with a past, several people and a branch: what tests and pictures look at. */

const text = (value) => ({ type: 'text', value })

const BEDS = [
  ['Herbs', ['Basil', 'Thyme', 'Rosemary', 'Mint', 'Sage']],
  ['Vegetables', ['Tomato', 'Bean', 'Carrot', 'Beetroot', 'Chard', 'Leek']],
  ['Berries', ['Raspberry', 'Currant', 'Gooseberry']],
  ['Trees', ['Apple', 'Pear', 'Quince', 'Medlar']],
]

export async function plant(api, name = 'garden') {
  await api.create(name)
  await api.commit(name, 'ana', 'the garden gets its name', [
    { op: 'put', path: '/', attribute: 'title', value: text('The garden behind the mill') },
    { op: 'put', path: '/', attribute: 'area', value: { type: 'float', value: 412.5 } },
    { op: 'insert', path: '/beds' },
    { op: 'insert', path: '/tools' },
  ])
  for (const [bed, plants] of BEDS) {
    const made = [{ op: 'insert', path: `/beds/${bed.toLowerCase()}`, attributes: { title: bed, sunny: bed !== 'Trees' } }]
    for (const [at, plant] of plants.entries()) {
      made.push({ op: 'append', path: `/beds/${bed.toLowerCase()}`, attributes: { name: plant, planted: 2019 + at, watered: at % 2 === 0 } })
    }
    await api.commit(name, bed === 'Berries' ? 'bo' : 'ana', `${bed.toLowerCase()} are planted`, made)
  }
  for (const tool of ['spade', 'rake', 'watering can', 'secateurs']) {
    await api.commit(name, 'chen', `a ${tool}`, [{ op: 'append', path: '/tools', attributes: { name: tool, borrowed: false } }])
  }
  await api.ask('POST', `/trees/${name}/tags`, { name: 'spring', at: 'main' })
  await api.commit(name, 'bo', 'notes on the tomatoes', [
    { op: 'put', path: '/beds/vegetables/0', attribute: 'note', value: text('Water them in the morning, tie them up in June, and take the side shoots off.') },
  ])
  await api.ask('POST', `/trees/${name}/branches`, { name: 'winter', at: 'main' })
  await api.commit(name, 'dana', 'tomatoes go, garlic comes', [
    { op: 'put', path: '/beds/vegetables/0', attribute: 'name', value: text('Garlic') },
    { op: 'put', path: '/beds/vegetables/0', attribute: 'planted', value: 2026 },
    { op: 'append', path: '/beds/vegetables', attributes: { name: 'Winter lettuce', planted: 2026, watered: false } },
    { op: 'remove', path: '/beds/herbs/0' },
  ], 'winter')
  await api.commit(name, 'ana', 'a better note', [
    { op: 'put', path: '/beds/vegetables/0', attribute: 'note', value: text('Water them early in the morning, tie them up in June, and leave some side shoots on.') },
    { op: 'put', path: '/beds/vegetables/0', attribute: 'name', value: text('Tomato, the yellow one') },
    { op: 'put', path: '/beds/vegetables/0', attribute: 'seeds', value: { type: 'int', value: '9007199254740993' } },
    { op: 'put', path: '/beds/vegetables/0', attribute: 'label', value: { type: 'bytes', value: 'iVBORw0KGgo=' } },
    { op: 'put', path: '/beds/vegetables/0', attribute: 'replaces', value: null },
  ])
  await api.commit(name, 'chen', 'the pear is gone, the medlar goes to the berries', [
    { op: 'remove', path: '/beds/trees/1' },
    { op: 'move', from: '/beds/trees/3', path: '/beds/berries/3' },
    { op: 'put', path: '/tools/2', attribute: 'borrowed', value: true },
  ])
}

/** Many children of one node. */
export async function sow(api, name, many) {
  await api.create(name)
  const numbers = Array.from({ length: many }, (_, at) => at)
  await api.ask('PUT', `/trees/${name}/document?author=ana&message=many`, numbers)
}
