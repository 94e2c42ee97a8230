//! Diagnoses of hand-made captures. Each test builds the smallest capture that shows one class of problem, or
//! one misreading that the diagnosis must avoid.

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
mod trains;
mod tshark;
mod udp;
mod windows;
