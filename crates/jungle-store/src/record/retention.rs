//! What a branch keeps, in records and in checkpoints.

use std::time::Duration;

use jungle_db::Retention;

use super::{DecodeError, DecodeReason};
use crate::wire::{Input, put_varint};

const ALL: u8 = 0;
const LAST: u8 = 1;
const BY_AGE: u8 = 2;

pub(crate) fn put_retention(out: &mut Vec<u8>, retention: Retention) {
    match retention {
        Retention::All => out.push(ALL),
        Retention::Last(count) => {
            out.push(LAST);
            put_varint(out, count as u64);
        }
        Retention::ByAge(age) => {
            out.push(BY_AGE);
            put_varint(out, age.as_secs());
            put_varint(out, u64::from(age.subsec_nanos()));
        }
    }
}

pub(crate) fn get_retention(input: &mut Input<'_>) -> Result<Retention, DecodeError> {
    match input.byte()? {
        ALL => Ok(Retention::All),
        LAST => {
            let count = usize::try_from(input.varint()?);
            let too_large = |_| input.error(DecodeReason::NumberTooLarge);
            Ok(Retention::Last(count.map_err(too_large)?))
        }
        BY_AGE => {
            let (seconds, nanos) = (input.varint()?, input.varint()?);
            match u32::try_from(nanos).ok().filter(|nanos| *nanos < 1_000_000_000) {
                Some(nanos) => Ok(Retention::ByAge(Duration::new(seconds, nanos))),
                None => Err(input.error(DecodeReason::NumberTooLarge)),
            }
        }
        kind => Err(input.error(DecodeReason::NoSuchKind { what: "retention", kind })),
    }
}
