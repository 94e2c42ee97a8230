//! What the diagnosis says of captures as the world makes them: each test is the smallest that shows its class.

mod bounds;
mod delayed_acks;
mod guide;
mod handshakes;
mod messages;
mod outages;
mod proofs;
mod qlog;
mod receivers;
mod records;
mod responses;
mod setups;
mod talk;
mod tshark;
mod udp;
