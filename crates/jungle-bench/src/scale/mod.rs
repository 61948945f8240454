//! What a cluster does that is larger than this machine: a model, its parameters, and who passes
//! messages on to whom. The measurements and the simulation are in `experiments/scale`; what the
//! report makes of all three is in `report/scale.rs`.

mod model;
mod network;

pub use self::model::{Here, Parameters, Prediction, Site, predict};
pub use self::network::{FAN_OUT, Network, Topology};

/// So many clients commit at once where commits a second are asked for: as many commits go into a
/// message then.
pub const CLIENTS: u64 = 64;

/// What the simulation takes for granted, in virtual time: round numbers of the order that two
/// shared cores give. It is there to hold the model against the cluster's own code, for which both
/// must be given the same, and to be the same run everywhere.
pub const SIMULATED: Parameters = Parameters {
    prepare_us: 20.0,
    joined_us: 20.0,
    message_us: 20.0,
    record_us: 5.0,
    message_bytes: 210.0,
    record_bytes: 40.0,
    publish_us: 1_000.0,
    publish_byte_ns: 10.0,
    deliver_us: 0.0,
    engine_us: 500.0,
    engine_byte_ns: 10.0,
    copy_us: 10.0,
    receive_us: 10.0,
    // There are no threads that would be woken.
    wake_us: 0.0,
    read_ns: 200.0,
};
