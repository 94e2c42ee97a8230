//! `longfat diagnose`.

mod tap;

use crate::args::DiagnoseArgs;
use crate::escape::tell;
use crate::output::write_file;
use crate::problem::CliProblem;
use crate::progress::{Bar, terminal};
use capture::CaptureReader;
use report::diagnosis::{MOST_ROWS, Rows, page, text};
use result::parquet::{FLOW_DIAGNOSES, PACKETS, write_flow_diagnoses};
use result::{Diagnosis, to_json};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use tap::{KeptPackets, KeptTap, PacketTap};
use track::{PacketRecorder, TrackerOptions};

/// Flows whose packets are in the page unless `--flow` names others: their curves can still be told apart.
const SHOWN: usize = 8;

/// Reads a capture, says what limited its flows, and writes what is asked for.
pub fn diagnose(args: &DiagnoseArgs) -> Result<ExitCode, CliProblem> {
    let kept = Arc::new(Mutex::new(KeptPackets {
        rows: args.report.is_some().then(|| Rows::new(SHOWN, &args.flow, MOST_ROWS)),
        packets: args.out.as_deref().map(|dir| PacketTap::create(dir, &args.capture)).transpose()?,
    }));
    let wanted = args.report.is_some() || args.out.is_some();
    let recorder = wanted.then(|| Box::new(KeptTap(kept.clone())) as Box<dyn PacketRecorder>);
    let mut bar = Bar::new(!args.no_progress);
    let read = read(&args.capture, recorder, &mut |done, all| bar.bytes(done, all));
    bar.clear();
    let kept = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
    if let Some(packets) = kept.packets {
        packets.finish()?;
    }
    let d = only(read?, &args.flow)?;
    let files = write(args, &d, kept.rows.as_ref())?;
    if args.json {
        crate::print_json(&to_json(&d))?;
        tell!("{files}");
    } else {
        let blank = if files.is_empty() { "" } else { "\n" };
        let text = text(&d, args.top, terminal(), args.lang.into());
        crate::print(&format!("{text}{blank}{files}"))?;
    }
    Ok(ExitCode::from(exit_code(&d)))
}

/// 1 where there is nothing to tell of, or not all of it.
fn exit_code(d: &Diagnosis) -> u8 {
    (d.flows.is_empty() || d.capture.damage.is_some()).into()
}

/// Reads the capture; `progress` is told bytes read and bytes in all.
fn read(
    path: &Path,
    recorder: Option<Box<dyn PacketRecorder>>,
    progress: &mut dyn FnMut(u64, Option<u64>),
) -> Result<Diagnosis, CliProblem> {
    let reader = CaptureReader::open(path).map_err(|e| CliProblem::Usage(e.to_string()))?;
    let (tracks, file, totals) = track::track_capture(reader, TrackerOptions::default(), recorder, progress);
    Ok(diagnosis::diagnose_tracks(tracks, diagnosis::capture_info(file, &totals)))
}

/// The diagnosis of the flows that `--flow` names; of all where it names none.
fn only(mut d: Diagnosis, flows: &[u32]) -> Result<Diagnosis, CliProblem> {
    if let Some(n) = flows.iter().find(|n| d.flows.iter().all(|f| f.id != **n)) {
        let some: Vec<String> = d.flows.iter().take(10).map(|f| f.id.to_string()).collect();
        let list = if some.is_empty() { "none".into() } else { some.join(", ") };
        let more = if d.flows.len() > some.len() { " …" } else { "" };
        return Err(CliProblem::Usage(format!("--flow {n}: no such flow; there are: {list}{more}")));
    }
    if !flows.is_empty() {
        d.flows.retain(|f| flows.contains(&f.id));
    }
    Ok(d)
}

/// Writes the files that are asked for; says which, a line each.
fn write(args: &DiagnoseArgs, d: &Diagnosis, rows: Option<&Rows>) -> Result<String, CliProblem> {
    let mut files: Vec<PathBuf> = Vec::new();
    if let Some(dir) = &args.out {
        let mut flows = Vec::new();
        let path = dir.join(FLOW_DIAGNOSES.name);
        write_flow_diagnoses(&mut flows, d).map_err(|e| CliProblem::Io(path.display().to_string(), e))?;
        files.push(write_file(&path, &flows)?);
        files.push(write_file(&dir.join("diagnosis.json"), to_json(d).as_bytes())?);
        files.push(dir.join(PACKETS.name));
    }
    if let (Some(file), Some(rows)) = (&args.report, rows) {
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
    fn only_flows_that_are_there_can_be_asked_for() {
        let ids = |d: Diagnosis| d.flows.iter().map(|f| f.id).collect::<Vec<_>>();
        assert_eq!(ids(only(diagnosis(&[4, 0, 7]), &[]).unwrap()), [4, 0, 7]);
        assert_eq!(ids(only(diagnosis(&[4, 0, 7]), &[7, 4]).unwrap()), [4, 7]);
        let e = only(diagnosis(&[4, 0, 7]), &[1]).unwrap_err().to_string();
        assert_eq!(e, "error: --flow 1: no such flow; there are: 4, 0, 7\n");
        let e = only(diagnosis(&[]), &[1]).unwrap_err();
        assert!(e.to_string().contains("there are: none") && e.exit_code() == 2);
    }

    #[test]
    fn files_are_written_and_the_exit_code_tells_of_damage_and_of_nothing() {
        let dir = std::env::temp_dir().join(format!("longfat-diagnose-{}", std::process::id()));
        let out = dir.to_str().unwrap();
        let html = dir.join("page.html");
        let args = args(&["--out", out, "--report", html.to_str().unwrap()]);
        let files = write(&args, &diagnosis(&[2]), Some(&Rows::new(8, &[], 100))).unwrap();
        assert_eq!(files.lines().count(), 4);
        let read = std::fs::read_to_string(dir.join("diagnosis.json")).unwrap();
        assert_eq!(serde_json::from_str::<Diagnosis>(&read).unwrap(), diagnosis(&[2]));
        assert!(std::fs::read(dir.join("flows.parquet")).unwrap().starts_with(b"PAR1"));
        assert!(std::fs::read_to_string(&html).unwrap().contains("longfat-diagnosis/1"));
        std::fs::remove_dir_all(&dir).unwrap();
        assert_eq!((exit_code(&diagnosis(&[2])), exit_code(&diagnosis(&[]))), (0, 1));
        let damage = Some(Damage { offset: 9, what: "cut".into() });
        let cut = Diagnosis { capture: CaptureInfo { damage, ..CaptureInfo::default() }, ..diagnosis(&[2]) };
        assert_eq!(exit_code(&cut), 1);
    }
}
