//! What the diagnosis says of captures as the world makes them: each test is the smallest that shows its class.

mod bounds;
mod handshakes;
mod messages;
mod outages;
mod qlog;
mod receivers;
mod records;
mod talk;
mod udp;
