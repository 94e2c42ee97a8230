//! On the real kernel, as root.

use kernel_cc::Opened;

fn available() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap()
}

#[test]
fn every_program_is_accepted_by_this_kernels_verifier() {
    let steady: (&str, &[u8]) = ("steady", include_bytes!(env!("STEADY_OBJECT")));
    for (name, bytes) in kernel_cc::OBJECTS.iter().chain([&steady]) {
        let opened = Opened::new(name, bytes).unwrap();
        println!("{name}: {:?}", opened.parameters());
        let kernel = kernel_cc::private_name(name, std::process::id(), 0);
        let registered = opened.register(&kernel).unwrap_or_else(|e| panic!("{e}"));
        assert!(available().contains(&kernel));
        drop(registered);
        assert!(!available().contains(&kernel));
    }
}
