//! The simulator against this machine's kernel, as root. One at a time, in real seconds: `make netns`.

mod live;
mod times;
