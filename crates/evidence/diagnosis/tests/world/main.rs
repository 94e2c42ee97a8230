//! What the diagnosis says of captures as the world makes them: each test is the smallest that shows its
//! class.

mod bounds;
mod clocks;
mod delayed_acks;
mod facts;
mod few_packets;
mod fills;
mod guide;
mod handshakes;
mod link;
mod messages;
mod outages;
mod proofs;
mod qlog;
mod receivers;
mod records;
mod responses;
mod setups;
mod sockets;
mod talk;
mod tshark;
mod udp;
mod windows;
