//! `longfat check` on the real kernel, as root. One at a time, in real seconds: `make netns`.

mod containers;
mod namespaces;
