//! The forms that data travels in, and bytes that are in none.

use alice::Segment;
use alice_nats::{Bytes, Compress, FormError, Numbers, Parcel, UNPACKED_BYTES_MAX};
use jungle_testkit::{Rng, for_each_seed};
use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Screen {
    title: String,
    #[serde(with = "alice_nats::numbers")]
    pixels: Vec<u32>,
    children: Vec<Screen>,
}

fn screen(rng: &mut Rng, depth: u32) -> Screen {
    let pixels = (0..rng.below(40)).map(|_| rng.next_u64() as u32).collect();
    let children = if depth == 0 { 0 } else { rng.below(3) };
    let children = (0..children).map(|_| screen(rng, depth - 1)).collect();
    Screen { title: "screen ".repeat(rng.below(9) as usize), pixels, children }
}

const ALWAYS: Compress = Compress::Above { bytes: 0 };
const BY_ZSTD: Compress = Compress::ZstdAbove { bytes: 0 };

#[test]
fn data_comes_back_from_each_form() {
    for_each_seed(50, |rng| {
        let sent = Parcel::from(screen(rng, 3));
        for compress in [Compress::Never, ALWAYS, BY_ZSTD] {
            let received = Parcel::<Screen>::received(sent.wire(compress).unwrap());
            assert_eq!(*received.open().unwrap(), *sent.open().unwrap());
        }
    });
}

#[test]
fn damaged_bytes_are_an_error_or_other_data_and_nothing_worse() {
    for_each_seed(300, |rng| {
        let sent = Parcel::from(screen(rng, 3));
        let compress = *rng.pick(&[Compress::Never, ALWAYS, BY_ZSTD]);
        let mut bytes = sent.wire(compress).unwrap().to_vec();
        match rng.below(3) {
            0 => bytes.truncate(rng.below(bytes.len() as u64) as usize),
            1 => bytes.extend([0; 3]),
            _ => {
                let at = rng.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << rng.below(8);
            }
        }
        let _ = Parcel::<Screen>::received(bytes.into()).open();
    });
}

#[test]
fn wrong_bytes_are_typed_errors() {
    let open = |bytes: &[u8]| {
        let parcel = Parcel::<u32>::received(Bytes::copy_from_slice(bytes));
        parcel.open().map(|number| *number).unwrap_err()
    };
    assert!(matches!(open(&[]), FormError::Unknown { first: None, bytes: 0 }));
    assert!(matches!(open(&[9, 1]), FormError::Unknown { first: Some(9), .. }));
    assert!(matches!(open(&[1]), FormError::Unpack { .. }));
    assert!(matches!(open(&[1, 7, 7]), FormError::Unpack { why, .. } if why.contains("1 bytes")));
    assert!(matches!(open(&[2, 1]), FormError::Unknown { .. }));
    let claims = |bytes: u32| [&[2][..], &bytes.to_le_bytes(), &[0x10, 7]].concat();
    assert!(matches!(open(&claims(u32::MAX)), FormError::TooLong { .. }));
    let most = u32::try_from(UNPACKED_BYTES_MAX).unwrap();
    assert!(matches!(open(&claims(most)), FormError::Squeezed { .. }));
    assert!(matches!(open(&claims(2)), FormError::Squeezed { .. }));
    assert_eq!(*Parcel::<u32>::received(claims(1).into()).open().unwrap(), 7);
}

#[test]
fn zstd_is_smaller_and_gives_no_more_than_it_says() {
    let text = (0..20_000).map(|n| format!("{} ", n % 1777)).collect::<String>();
    let parcel = Parcel::from(text.clone());
    let (quick, small) = (parcel.wire(ALWAYS).unwrap(), parcel.wire(BY_ZSTD).unwrap());
    assert!(small.len() < quick.len(), "{} and {}", small.len(), quick.len());
    assert_eq!(parcel.wire(BY_ZSTD).unwrap().as_ptr(), small.as_ptr(), "it is made once");
    let open = |bytes: Vec<u8>| Parcel::<String>::received(bytes.into()).open();
    assert_eq!(*open(small.to_vec()).unwrap(), text);
    let claiming = |length: u32| {
        let mut bytes = small.to_vec();
        bytes[1..5].copy_from_slice(&length.to_le_bytes());
        open(bytes).unwrap_err()
    };
    let length = u32::try_from(parcel.packed().unwrap().len() - 1).unwrap();
    for wrong in [0, 1, length - 1, length + 1, u32::try_from(UNPACKED_BYTES_MAX).unwrap()] {
        assert!(matches!(claiming(wrong), FormError::Squeezed { .. }), "{wrong}");
    }
    assert!(matches!(claiming(u32::MAX), FormError::TooLong { .. }));
}

#[test]
fn deeply_nested_bytes_are_refused() {
    #[derive(Debug, Serialize, Deserialize)]
    struct Nest(Vec<Nest>);
    let mut bytes = vec![1];
    bytes.extend([0x91].repeat(100_000));
    let deep = Parcel::<Nest>::received(bytes.into()).open().unwrap_err();
    assert!(matches!(deep, FormError::Unpack { why, .. } if why.contains("depth")));
}

#[test]
fn each_form_is_made_at_most_once() {
    static WRITTEN: AtomicU32 = AtomicU32::new(0);
    static READ: AtomicU32 = AtomicU32::new(0);
    struct Counted;
    impl Serialize for Counted {
        fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            WRITTEN.fetch_add(1, Ordering::SeqCst);
            to.serialize_str(&"counted ".repeat(100))
        }
    }
    impl<'de> Deserialize<'de> for Counted {
        fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Counted, D::Error> {
            READ.fetch_add(1, Ordering::SeqCst);
            String::deserialize(from).map(|_| Counted)
        }
    }
    let parcel = Parcel::from(Segment::from(Counted));
    parcel.open().unwrap();
    assert_eq!(WRITTEN.load(Ordering::SeqCst), 0);
    let forms = [parcel.wire(ALWAYS).unwrap(), parcel.clone().wire(ALWAYS).unwrap()];
    assert_eq!(forms[0].as_ptr(), forms[1].as_ptr());
    parcel.wire(Compress::Never).unwrap();
    assert_eq!(WRITTEN.load(Ordering::SeqCst), 1);
    let received = Parcel::<Counted>::received(forms[0].clone());
    assert_eq!(received.wire(Compress::Never).unwrap().as_ptr(), forms[0].as_ptr());
    assert_eq!(READ.load(Ordering::SeqCst), 0);
    assert!(received.open().unwrap().is_same(&received.open().unwrap()));
    assert_eq!((READ.load(Ordering::SeqCst), WRITTEN.load(Ordering::SeqCst)), (1, 1));
}

#[test]
fn what_gets_no_smaller_is_not_compressed() {
    for_each_seed(5, |rng| {
        let noise = Parcel::from(Numbers((0..500).map(|_| rng.next_u64()).collect()));
        assert_eq!(noise.wire(ALWAYS).unwrap(), noise.packed().unwrap());
        assert_eq!(noise.packed().unwrap().len(), 1 + 3 + 4000);
    });
}

#[test]
fn blob_of_broken_numbers_is_refused() {
    let three = Parcel::from(Numbers(vec![1_u8, 2, 3])).packed().unwrap();
    let error = Parcel::<Numbers<u16>>::received(three).open().unwrap_err();
    assert!(matches!(error, FormError::Unpack { why, .. } if why.contains("length 3")));
}
