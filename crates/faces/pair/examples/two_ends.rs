//! One end of a pair without signals and log: `two_ends FILE`, a configuration of `longfat proxy`, or `two_ends --make-key FILE`.
//! For measurements.

#[cfg(target_os = "linux")]
fn main() {
    let mut args = std::env::args().skip(1);
    let first = args.next().expect("a file is wanted");
    if first == "--make-key" {
        let key = pair::PrivateKey::generate().expect("randomness");
        key.write(args.next().expect("a file is wanted").as_ref()).expect("is written");
        println!("{}", key.public());
        return;
    }
    let text = std::fs::read_to_string(&first).expect("is read");
    let config = proxy::ProxyConfig::parse(&first, &text).unwrap_or_else(|e| panic!("{e}"));
    let begun = std::time::Instant::now();
    let end = pair::Pair::start(
        &config.pair.expect("has [pair]"),
        Box::new(move |entry| {
            eprintln!("{:?} {}", begun.elapsed(), serde_json::Value::from(entry));
        }),
    );
    let _end = end.unwrap_or_else(|e| panic!("{e}"));
    loop {
        std::thread::park();
    }
}

#[cfg(not(target_os = "linux"))]
fn main() {}
