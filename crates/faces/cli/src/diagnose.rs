//! `longfat diagnose`.

pub mod filter;
mod folder;
mod qlog;
mod tap;

use crate::args::DiagnoseArgs;
use crate::escape::eprint_escaped;
use crate::other_input::OtherInput;
use crate::problem::CliProblem;
use crate::progress::{Bar, terminal};
use crate::regular::NewFile;
use app::diagnose::{CaptureSource, diagnosed, joined};
use app::output::write_file;
use app::tables::{FLOW_DIAGNOSES, PACKETS, write_flow_diagnoses};
use capture::CaptureReader;
use report::diagnosis::{MAX_ROWS, Rows, page, text};
use result::Diagnosis;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use tap::{KeptPackets, KeptTap, PacketTap};
use track::PacketRecorder;

/// The number of flows plotted in the page without `--flow`: one for each distinct colour.
const PLOTTED_FLOWS: usize = 8;

/// Diagnoses a capture or a folder of captures, prints the result and writes the requested files.
pub fn diagnose(args: &DiagnoseArgs) -> Result<ExitCode, CliProblem> {
    if let Some(device) = &args.interface {
        return crate::watch::interface(args, device);
    }
    let Some(path) = args.capture.as_deref() else { return qlog::alone(args) };
    if let Some(other) = &args.other {
        return single(args, CaptureSource::BothEnds([path, other]), &[]);
    }
    if path.is_dir() && !args.joined {
        return folder::diagnose(args, path);
    }
    let (reader, left_out) = if args.joined {
        if !path.is_dir() {
            return Err(CliProblem::usage("--joined needs a folder of captures".into()));
        }
        joined(path)?
    } else {
        let opened = CaptureReader::open(path).map_err(|e| other(path, CliProblem::usage(e.to_string())));
        (opened?, Vec::new())
    };
    single(args, CaptureSource::One(Box::new(reader)), &left_out)
}

/// Replaces the error for an input of another command by one that names that command.
fn other(path: &Path, why: CliProblem) -> CliProblem {
    OtherInput::of(path).map_or(why, |other| CliProblem::usage(other.instead(path, "diagnose")))
}

/// Diagnoses one capture, or several that were joined.
fn single(args: &DiagnoseArgs, source: CaptureSource, left_out: &[String]) -> Result<ExitCode, CliProblem> {
    let path = args.capture.as_deref().unwrap_or(Path::new("-"));
    let (d, kept) = read(args, source, path, args.out.as_deref())?;
    finish(args, d, kept, left_out)
}

/// Prints the diagnosis and writes its files.
fn finish(
    args: &DiagnoseArgs,
    d: Diagnosis,
    kept: KeptPackets,
    left_out: &[String],
) -> Result<ExitCode, CliProblem> {
    if let Some(left) = filter::unmatched(args, &d) {
        return Err(filter::nothing_matched(left));
    }
    // An unknown --flow must not replace existing files: on this error the unfinished packet file is dropped.
    let d = selected(d, &args.flow)?;
    let mut files = write(args, args.out.as_deref(), &d, kept)?;
    files.insert_str(0, &folder::skipped_lines(left_out, terminal()));
    if args.json {
        crate::print_json(&diagnosis::diagnosis_json(&d))?;
        eprint_escaped!("{files}");
    } else {
        let blank = if files.is_empty() { "" } else { "\n" };
        let text = text(&d, args.top, terminal(), args.lang.into());
        crate::print(&format!("{text}{blank}{files}"))?;
    }
    Ok(ExitCode::from(exit_code(&d)))
}

/// Reads and diagnoses a capture, and keeps the packets that the requested files need; `out` is the folder of
/// --out.
fn read(
    args: &DiagnoseArgs,
    source: CaptureSource,
    path: &Path,
    out: Option<&Path>,
) -> Result<(Diagnosis, KeptPackets), CliProblem> {
    let (kept, recorder) = keeping(args, path, out)?;
    let mut bar = Bar::new(!args.no_progress);
    let progress = &mut |done, all| bar.bytes(done, all);
    let d = diagnosed(source, args.filter.packet_filter(), &args.qlog, recorder, progress);
    bar.clear();
    Ok((d?, taken(&kept)))
}

/// The packets kept, and the recorder that fills them; no recorder if no file needs packets.
type Keeping = (Arc<Mutex<KeptPackets>>, Option<Box<dyn PacketRecorder>>);

/// Prepares to keep the packets of `path` that the requested files need; `out` is the folder of --out.
pub fn keeping(args: &DiagnoseArgs, path: &Path, out: Option<&Path>) -> Result<Keeping, CliProblem> {
    let kept = Arc::new(Mutex::new(KeptPackets {
        rows: args.report.is_some().then(|| Rows::new(PLOTTED_FLOWS, &args.flow, MAX_ROWS)),
        packets: out.map(|dir| PacketTap::create(dir, path)).transpose()?,
    }));
    let keeps_packets = args.report.is_some() || out.is_some();
    let recorder = keeps_packets.then(|| Box::new(KeptTap(kept.clone())) as Box<dyn PacketRecorder>);
    Ok((kept, recorder))
}

/// Moves the kept packets out of the mutex.
pub fn taken(kept: &Mutex<KeptPackets>) -> KeptPackets {
    std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns 1 for a capture without flows or with damage, else 0.
pub fn exit_code(d: &Diagnosis) -> u8 {
    (d.flows.is_empty() && d.udp_flows.is_empty() || d.capture.damage.is_some()).into()
}

/// Keeps the flows that `--flow` names; all of them without `--flow`.
fn selected(mut d: Diagnosis, flows: &[u32]) -> Result<Diagnosis, CliProblem> {
    if let Some(n) = flows.iter().find(|n| d.flows.iter().all(|f| f.id != **n)) {
        let some: Vec<String> = d.flows.iter().take(10).map(|f| f.id.to_string()).collect();
        let list = if some.is_empty() { "none".into() } else { some.join(", ") };
        let more = if d.flows.len() > some.len() { " …" } else { "" };
        return Err(CliProblem::usage(format!("--flow {n}: no such flow; there are: {list}{more}")));
    }
    if !flows.is_empty() {
        d.flows.retain(|f| flows.contains(&f.id));
    }
    Ok(d)
}

/// Writes the requested files and returns their names, one per line.
pub fn write(
    args: &DiagnoseArgs,
    out: Option<&Path>,
    d: &Diagnosis,
    kept: KeptPackets,
) -> Result<String, CliProblem> {
    let mut files: Vec<PathBuf> = Vec::new();
    if let Some(dir) = out {
        let begin = |name: &str, write: &dyn Fn(&mut NewFile) -> io::Result<()>| {
            let path = dir.join(name);
            let file = NewFile::create(&path).and_then(|mut file| write(&mut file).map(|()| file));
            file.map(|file| (path.clone(), file)).map_err(|e| CliProblem::io(path.display().to_string(), e))
        };
        fs::create_dir_all(dir).map_err(|e| CliProblem::io(dir.display().to_string(), e))?;
        // All files are complete before the first replaces an old one.
        let mut unfinished = vec![
            begin(FLOW_DIAGNOSES.name, &|file| write_flow_diagnoses(file, d))?,
            begin("diagnosis.json", &|file| file.write_all(diagnosis::diagnosis_json(d).as_bytes()))?,
        ];
        if let Some(packets) = kept.packets {
            unfinished.push((dir.join(PACKETS.name), packets.finish()?));
        }
        for (path, file) in unfinished {
            file.commit().map_err(|e| CliProblem::io(path.display().to_string(), e))?;
            files.push(path);
        }
    }
    if let (Some(file), Some(rows)) = (&args.report, &kept.rows) {
        files.push(write_file(file, page(d, rows, args.lang.into()).as_bytes())?);
    }
    Ok(files.iter().map(|f| format!("{}\n", f.display())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;
    use result::diagnosis::{CaptureInfo, Damage};
    use result::{Cause, FlowDiagnosis};

    fn args(more: &[&str]) -> DiagnoseArgs {
        let line = ["longfat", "diagnose", "a.pcap"].iter().chain(more);
        match Cli::parse_from(line).command {
            Command::Diagnose(args) => args,
            other => panic!("{other:?}"),
        }
    }

    fn diagnosis(ids: &[u32]) -> Diagnosis {
        let flow = |&id| FlowDiagnosis { id, cause: Cause::Policed, ..FlowDiagnosis::default() };
        Diagnosis {
            schema: result::DIAGNOSIS_SCHEMA.into(),
            flows: ids.iter().map(flow).collect(),
            ..Diagnosis::default()
        }
    }

    #[test]
    fn an_unknown_flow_number_is_bad_input() {
        let ids = |d: Diagnosis| d.flows.iter().map(|f| f.id).collect::<Vec<_>>();
        assert_eq!(ids(selected(diagnosis(&[4, 0, 7]), &[]).unwrap()), [4, 0, 7]);
        assert_eq!(ids(selected(diagnosis(&[4, 0, 7]), &[7, 4]).unwrap()), [4, 7]);
        let e = selected(diagnosis(&[4, 0, 7]), &[1]).unwrap_err().to_string();
        assert_eq!(e, "error: --flow 1: no such flow; there are: 4, 0, 7\n");
        let e = selected(diagnosis(&[]), &[1]).unwrap_err();
        assert!(e.to_string().contains("there are: none") && e.exit_code() == 2);
    }

    #[test]
    fn files_are_written_and_the_exit_code_is_1_for_damage_or_no_flow() {
        let dir = std::env::temp_dir().join(format!("longfat-diagnose-{}", std::process::id()));
        let out = dir.to_str().unwrap();
        let html = dir.join("page.html");
        let args = args(&["--out", out, "--report", html.to_str().unwrap()]);
        let kept = || KeptPackets {
            rows: Some(Rows::new(8, &[], 100)),
            packets: Some(PacketTap::create(&dir, Path::new("a.pcap")).unwrap()),
        };
        let files = write(&args, args.out.as_deref(), &diagnosis(&[2]), kept()).unwrap();
        assert_eq!(files.lines().count(), 4);
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 4, "no unfinished file is left");
        drop(kept());
        assert_eq!(std::fs::read_dir(&dir).unwrap().count(), 4, "a dropped packet file is removed");
        let read = std::fs::read_to_string(dir.join("diagnosis.json")).unwrap();
        assert_eq!(serde_json::from_str::<Diagnosis>(&read).unwrap(), diagnosis(&[2]));
        assert!(std::fs::read(dir.join("flows.parquet")).unwrap().starts_with(b"PAR1"));
        assert!(std::fs::read_to_string(&html).unwrap().contains(result::DIAGNOSIS_SCHEMA));
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((exit_code(&diagnosis(&[2])), exit_code(&diagnosis(&[]))), (0, 1));
        let damage = Some(Damage { offset: 9, what: "cut".into() });
        let cut = Diagnosis { capture: CaptureInfo { damage, ..CaptureInfo::default() }, ..diagnosis(&[2]) };
        assert_eq!(exit_code(&cut), 1);
    }
}
