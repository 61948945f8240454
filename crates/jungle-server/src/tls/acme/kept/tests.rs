use rcgen::{CertificateParams, KeyPair, date_time_ymd};

use super::*;

const DAY: Duration = Duration::from_hours(24);

/// A certificate with its key, for these names.
fn made(names: &[&str], from: i32, until: i32) -> String {
    let mut params = CertificateParams::new(owned(names)).unwrap();
    params.not_before = date_time_ymd(from, 1, 1);
    params.not_after = date_time_ymd(until, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    format!("{}{}", certificate.pem(), key.serialize_pem())
}

fn owned(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

#[test]
fn validity_is_read_in_both_forms_of_years() {
    let at = |days: u32| SystemTime::UNIX_EPOCH + days * DAY;
    let holds = Usable::read(&made(&["a.example"], 2026, 2060)).unwrap().holds;
    assert_eq!(holds, at(20454)..at(32872));
}

#[test]
fn certificate_is_of_no_use_with_another_key() {
    let text = made(&["a.example"], 2026, 2027);
    assert!(Usable::read(&text).is_ok());
    let refused = |text: &str| Usable::read(text).err().unwrap();
    let (certificate, _) = text.split_once("-----BEGIN PRIVATE").unwrap();
    let other = made(&["a.example"], 2026, 2027);
    let (_, key) = other.split_once("-----BEGIN PRIVATE").unwrap();
    refused(certificate);
    refused(&format!("{certificate}-----BEGIN PRIVATE{key}"));
    assert_eq!(refused(""), "there is no certificate in it");
    assert_eq!(refused(&made(&["a.example"], 2027, 2026)), "it never holds");
}

#[test]
fn certificate_lacks_what_it_is_not_for() {
    let usable = Usable::read(&made(&["a.example", "b.example"], 2026, 2027)).unwrap();
    let (both, more) = (owned(&["b.example", "a.example"]), owned(&["a.example", "c.example"]));
    assert_eq!(usable.lacks(&both), None);
    assert_eq!(usable.lacks(&more), Some("c.example"));
    assert!(usable.is_for_any(&more));
    assert!(!usable.is_for_any(&more[1..]));
}

#[test]
fn what_is_no_certificate_is_an_error_wherever_it_is_cut_off() {
    let text = made(&["a.example"], 2026, 2027);
    let whole = CertificateDer::from_pem_slice(text.as_bytes()).unwrap();
    for end in 0..whole.len() {
        assert!(validity(&whole[..end]).is_err(), "{end}");
    }
    for at in 0..whole.len() {
        let mut changed = whole.to_vec();
        changed[at] ^= 0xff;
        // Only that it panics nowhere: not all bytes matter to it.
        let _ = validity(&changed);
    }
}

#[test]
fn renewal_is_due_when_a_third_of_the_life_is_left() {
    let now = SystemTime::UNIX_EPOCH + 20_000 * DAY;
    let holds = now - 10 * DAY..now + 80 * DAY;
    assert_eq!(renewed_in(&holds, now), 50 * DAY);
    assert_eq!(renewed_in(&holds, now + 49 * DAY), DAY);
    assert_eq!(renewed_in(&holds, now + 51 * DAY), Duration::ZERO);
    assert_eq!(renewed_in(&holds, now + 500 * DAY), Duration::ZERO);
}
