//! Runs a proxy from a configuration file, without signals and log: `minimal proxy --config FILE`.
fn main() {
    let file = std::env::args().nth(3).expect("proxy --config FILE");
    let text = std::fs::read_to_string(&file).expect("reads");
    let config = proxy::ProxyConfig::parse(&file, &text).unwrap_or_else(|e| panic!("{}", e.render()));
    let _proxy = proxy::Proxy::start(&config, Default::default(), Box::new(|_| {})).expect("starts");
    loop {
        std::thread::park();
    }
}
