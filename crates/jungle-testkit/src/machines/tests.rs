//! What arrives, and what does not. A datagram to a port that nobody has is counted by the machine
//! that it reaches.

use std::net::UdpSocket;
use std::time::Instant;

use super::*;
use crate::NatsServers;

const PORT: u16 = 7000;

/// Sends a datagram from one machine to another.
fn say(machines: &Machines, from: usize, to: usize) {
    let say = format!("echo >/dev/udp/{}/{PORT}", machines.address(to));
    checked(machines.command(from, "bash").args(["-c", &say]));
}

/// How many have reached a machine.
fn heard(machines: &Machines, at: usize) -> u64 {
    let counted = machines.command(at, "cat").arg("/proc/net/snmp").output().unwrap();
    let counted = String::from_utf8(counted.stdout).unwrap();
    let mut lines = counted.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let (names, numbers) = (lines.next().unwrap(), lines.next().unwrap());
    let of_nobody = names.split(' ').position(|name| name == "NoPorts").unwrap();
    numbers.split(' ').nth(of_nobody).unwrap().parse().unwrap()
}

/// Waits until exactly so many have reached each. What was lost before and has come all the same
/// would be too many.
#[track_caller]
fn wait(machines: &Machines, ought: [u64; 2]) {
    let begun = Instant::now();
    loop {
        let heard = [heard(machines, 0), heard(machines, 1)];
        if heard == ought {
            return;
        }
        assert!(heard[0] <= ought[0] && heard[1] <= ought[1], "{heard:?} of {ought:?}");
        assert!(begun.elapsed().as_secs() < 30, "{heard:?} of {ought:?}");
    }
}

#[test]
fn what_is_lost_is_lost_one_way_until_it_is_mended() {
    Machines::run("machines::tests::what_is_lost_is_lost_one_way_until_it_is_mended", 2, |two| {
        say(two, 0, 1);
        wait(two, [0, 1]);
        two.lose(0, 1);
        (0..5).for_each(|_| say(two, 0, 1));
        say(two, 1, 0);
        wait(two, [1, 1]);
        two.part(&[0], &[1]);
        say(two, 0, 1);
        say(two, 1, 0);
        two.mend();
        say(two, 1, 0);
        say(two, 0, 1);
        wait(two, [2, 2]);
    });
}

#[test]
fn cable_that_is_pulled_leaves_the_way_of_who_sits_there() {
    let test = "machines::tests::cable_that_is_pulled_leaves_the_way_of_who_sits_there";
    Machines::run(test, 2, |two| {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        let send = |to: String| drop(socket.send_to(b"x", (to, PORT)));
        // Who has found another one sends at once, and does not look for it first.
        send(two.address(0));
        say(two, 1, 0);
        send(two.address(1));
        wait(two, [2, 1]);
        two.unplug(0);
        send(two.address(0));
        say(two, 1, 0);
        send(two.desk(0));
        send(two.address(1));
        wait(two, [3, 2]);
        two.plug(0);
        say(two, 0, 1);
        wait(two, [3, 3]);
    });
}

#[test]
fn servers_of_the_engine_on_machines_find_each_other() {
    let test = "machines::tests::servers_of_the_engine_on_machines_find_each_other";
    Machines::run(test, 3, |three| {
        let mut engine = NatsServers::start_on(three);
        let ought = "nats://10.77.0.1:4222,nats://10.77.0.2:4222,nats://10.77.0.3:4222";
        assert_eq!(engine.addresses(), ought);
        engine.kill(1);
        engine.restart(1);
    });
}
