use super::*;
use jungle_testkit::for_each_seed;

#[track_caller]
fn check(dot: &str, expected: &str) {
    let told = match parse(dot) {
        Ok(graph) => {
            let edge = |edge: &Edge| format!("{}-{}>{}", edge.from, edge.label, edge.to);
            let edges: Vec<String> = graph.edges().iter().map(edge).collect();
            format!("{} | {}", graph.names().join(" "), edges.join(" "))
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(told, expected);
}

#[test]
fn graphs_are_read() {
    check("digraph { a -> b [label=right]; b -> a }", "a b | a-right>b b-a>a");
    check("strict digraph \"all\" { c; a -> b -> c [ label = n, color=\"red\" ] }", {
        "c a b | a-n>b b-n>c"
    });
    check("graph g { a -- b [label=other] }", "a b | a-other>b b-other>a");
    check(
        "// all\n# of it\ndigraph {\n/* is\n */ rankdir=LR node [shape=box]
        \"a \\\"b\\\"\" -> -1.5 }",
        "a \"b\" -1.5 | a \"b\"--1.5>-1.5",
    );
}

#[test]
fn what_is_wrong_is_said_with_its_line() {
    check("", "line 1: `digraph` or `graph` should stand here, and not the end");
    check("digraph {\n a -> ", "line 2: a node should stand here, and not the end");
    check("digraph { a -- b }", "line 1: `->` should stand here, and not `--`");
    check("digraph {} digraph {}", "line 1: the end should stand here, and not `digraph`");
    check("digraph {\n\"a", "line 2: a closing `\"` should stand here, and not the end");
    check("digraph { /* ", "line 1: a closing `*/` should stand here, and not the end");
    check("digraph { a [label] }", "line 1: `=` should stand here, and not `]`");
    check("digraph { a ! }", "line 1: a name should stand here, and not '!'");
    check("digraph {}", "nobody is in the graph");
    check("digraph { a -> b [label=x]; a -> c [label=x] }", {
        "`a` has two neighbours with the label `x`"
    });
}

#[test]
fn what_would_be_understood_otherwise_is_refused() {
    check("digraph { subgraph { a } }", "line 1: a group of nodes cannot be used here");
    check("digraph { a -> { b c } }", "line 1: a group of nodes cannot be used here");
    check("digraph { a:n -> b }", "line 1: a port cannot be used here");
    check("digraph { a [label=<b>] }", "line 1: HTML cannot be used here");
    check("digraph { edge [label=x] a -> b }", "line 1: a label for all edges cannot be used here");
}

#[test]
fn long_texts_are_refused() {
    let long = " ".repeat(DOT_BYTES_MAX + 1);
    assert_eq!(parse(&long), Err(DotError::TooLong { bytes: DOT_BYTES_MAX + 1 }));
    let many: String = (0..=MEMBERS_MAX).map(|n| format!("n{n};")).collect();
    check(&format!("digraph {{ {many} }}"), "more than 1000 are in the graph");
    let many = "a -> b;".repeat(EDGES_MAX + 1);
    check(&format!("digraph {{ {many} }}"), "the graph has more than 10000 edges");
}

#[test]
fn written_graph_is_read_as_it_was_and_damaged_ones_do_no_harm() {
    for_each_seed(200, |rng| {
        let names = ["a", "b c", "d\"\\", "é", "subgraph", "\\n"];
        let edges = (0..rng.below(8)).map(|n| Edge {
            from: (*rng.pick(&names)).to_owned(),
            label: format!("{n}{}", rng.pick(&names)),
            to: (*rng.pick(&names)).to_owned(),
        });
        let graph = Graph::new(names.iter().map(|name| (*name).to_owned()), edges).unwrap();
        let mut text = graph.to_string();
        assert_eq!(parse(&text), Ok(graph));
        let at = rng.index(text.len());
        if text.is_char_boundary(at) {
            text.truncate(at);
            text.push(*rng.pick(&['"', '{', '[', '-', '/', '\\', '}']));
        }
        let _ = parse(&text);
    });
}
