//! Compares the simulator with this machine's kernel, as root, one test at a time and in real time: `make
//! netns`.

mod live;
mod times;
