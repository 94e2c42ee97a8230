//! Compiles each `bpf/NAME.bpf.c` with clang and writes a list of the objects, when the feature
//! `bpf` is on. clang is asked directly: it is one call a file.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const NEEDED: &str = "\
the eBPF programs (feature `kernel-cc` of longfat, `bpf` of longfat-kernel-cc) need clang and the development files \
of libelf and zlib; on Debian: apt-get install clang libelf-dev zlib1g-dev pkg-config";

fn compile(source: &Path, object: &Path) {
    println!("cargo::rerun-if-changed={}", source.display());
    let clang = env::var_os("CLANG").unwrap_or_else(|| "clang".into());
    let big = env::var("CARGO_CFG_TARGET_ENDIAN").is_ok_and(|e| e == "big");
    // Debug information (-g) carries the BTF that libbpf relocates by; its paths say nothing of this machine.
    let flags = ["-O2", "-g", "-mcpu=v3", "-Wall", "-Wextra", "-Werror", "-fdebug-prefix-map=.=."];
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let mut command = Command::new(clang);
    command.args(["-target", if big { "bpfeb" } else { "bpfel" }]).args(flags);
    command.arg("-I").arg(root.join("bpf")).arg("-c").arg(source).arg("-o").arg(object);
    let out = command.output().unwrap_or_else(|e| {
        stop(&format!("{NEEDED} (another clang than `clang`: set CLANG; {e})"));
    });
    if !out.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&out.stderr));
        stop(&format!("clang refuses {}", source.display()));
    }
}

/// Ends the build with one line that cargo shows.
fn stop(text: &str) -> ! {
    println!("cargo::error={text}");
    std::process::exit(1)
}

/// libbpf is built from source by libbpf-sys, which says less clearly what it lacks.
fn check_libraries() {
    let asked = Command::new("pkg-config").args(["--exists", "libelf", "zlib"]).status();
    match asked {
        Ok(status) if status.success() => {}
        Ok(_) => stop(&format!("{NEEDED} (pkg-config finds no libelf or no zlib)")),
        Err(e) => stop(&format!("{NEEDED} (pkg-config: {e})")),
    }
}

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let on = |feature: &str| env::var_os(format!("CARGO_FEATURE_{feature}")).is_some();
    if !on("BPF") || env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os != "linux") {
        return;
    }
    println!("cargo::rerun-if-env-changed=CLANG");
    check_libraries();
    println!("cargo::rerun-if-changed=bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let folder = fs::read_dir("bpf").unwrap_or_else(|e| stop(&format!("bpf: {e}")));
    let mut sources: Vec<PathBuf> = folder.filter_map(|entry| Some(entry.ok()?.path())).collect();
    sources.sort();
    let mut list = String::from("&[\n");
    for source in sources {
        let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".bpf.c") else { continue };
        let object = out.join(format!("{name}.bpf.o"));
        compile(&source, &object);
        list.push_str(&format!("    ({name:?}, include_bytes!({:?})),\n", object.display().to_string()));
    }
    list.push_str("]\n");
    fs::write(out.join("objects.rs"), list).unwrap_or_else(|e| stop(&format!("objects.rs: {e}")));
    if on("KERNEL_TESTS") {
        let object = out.join("steady.bpf.o");
        compile(Path::new("tests/steady.bpf.c"), &object);
        println!("cargo::rustc-env=STEADY_OBJECT={}", object.display());
    }
}
