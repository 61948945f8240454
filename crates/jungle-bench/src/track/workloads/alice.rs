//! Of Alice.

use alice::{Pool, Run};

use super::Meter;
use crate::Failure;
use crate::experiments::alice::chain::{LINKS, one};

/// A code segment that takes what it put, on the calling thread.
pub fn chain(meter: &mut Meter) -> Result<(), Failure> {
    let pool = Pool::new(1)?;
    meter.count(LINKS, || one(&pool, Run::Here)).map(drop)
}
