//! Keeps packets while a capture is read, for the page and for `packets.parquet`.

use crate::problem::CliProblem;
use crate::regular::NewFile;
use app::tables::{PACKETS, PacketRecord, PacketWriter};
use report::diagnosis::Rows;
use result::FlowDiagnosis;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use track::{PacketRecorder, PacketRow};

#[derive(Default)]
pub struct KeptPackets {
    /// For the page of --report.
    pub rows: Option<Rows>,
    /// For the folder of --out.
    pub packets: Option<PacketTap>,
}

/// The recorder that fills [`KeptPackets`]. The reader owns the recorder, so the packets are shared.
pub struct KeptTap(pub Arc<Mutex<KeptPackets>>);

impl PacketRecorder for KeptTap {
    fn row(&mut self, row: &PacketRow) {
        // The lock is free while packets are read.
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(rows) = &mut kept.rows {
            rows.row(row);
        }
        if let Some(packets) = &mut kept.packets {
            packets.row(row);
        }
    }
}

/// Writes `packets.parquet`.
pub struct PacketTap {
    path: PathBuf,
    file: NewFile,
    rows: PacketWriter<'static>,
    /// The first write error; nothing is written after it.
    failed: Option<io::Error>,
}

impl PacketTap {
    /// Creates `folder` and in it the file for the packets of `capture`.
    pub fn create(folder: &Path, capture: &Path) -> Result<PacketTap, CliProblem> {
        let path = folder.join(PACKETS.name);
        let create = || -> io::Result<_> {
            fs::create_dir_all(folder)?;
            let file = NewFile::create(&path)?;
            let rows = PacketWriter::create(Box::new(file.file()?), &capture.display().to_string())?;
            Ok((file, rows))
        };
        match create() {
            Ok((file, rows)) => Ok(PacketTap { path, file, rows, failed: None }),
            Err(e) => Err(CliProblem::io(path.display().to_string(), e)),
        }
    }

    fn row(&mut self, row: &PacketRow) {
        if self.failed.is_some() {
            return;
        }
        let packet = PacketRecord {
            flow: FlowDiagnosis::number(row.connection, row.from_opener),
            time_ns: row.time.as_nanos(),
            seq: row.seq,
            len: row.len,
            ip_bytes: row.ip_bytes,
            ack: row.ack,
            flags: row.flags,
            kind: row.kind.name(),
            inflight: row.inflight,
            window: row.window,
            rtt_us: row.rtt.map(|rtt| rtt.as_micros()),
        };
        self.failed = self.rows.push(packet).err();
    }

    /// Completes the file for [`NewFile::commit`].
    ///
    /// # Errors
    /// Returns the first error of any write.
    pub fn finish(self) -> Result<NewFile, CliProblem> {
        let done = match self.failed {
            Some(e) => Err(e),
            None => self.rows.finish(),
        };
        done.map(|()| self.file).map_err(|e| CliProblem::io(self.path.display().to_string(), e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Time;

    #[test]
    fn the_page_and_the_parquet_file_get_the_same_packets() {
        let dir = std::env::temp_dir().join(format!("longfat-tap-{}", std::process::id()));
        let kept = Arc::new(Mutex::new(KeptPackets {
            rows: Some(Rows::new(8, &[], 1000)),
            packets: Some(PacketTap::create(&dir, Path::new("a.pcap")).unwrap()),
        }));
        let mut tap = KeptTap(kept.clone());
        for i in 0..100 {
            let time = Time::from_nanos(1_700_000_000_000_000_000 + i);
            tap.row(&PacketRow {
                connection: 3,
                from_opener: i % 2 == 0,
                time,
                len: 10,
                flags: 0x10,
                ..PacketRow::default()
            });
        }
        drop(tap);
        let KeptPackets { rows, packets } = std::mem::take(&mut *kept.lock().unwrap());
        packets.unwrap().finish().unwrap().commit().unwrap();
        let flow = |id| FlowDiagnosis { id, ..FlowDiagnosis::default() };
        let d = result::Diagnosis { flows: vec![flow(6), flow(7)], ..Default::default() };
        let page = report::diagnosis::page(&d, &rows.unwrap(), report::Lang::En);
        assert!(page.contains("id=\"series-6\"") && page.contains("id=\"series-7\""));
        let bytes = fs::read(dir.join(PACKETS.name)).unwrap();
        assert!(bytes.starts_with(b"PAR1") && bytes.ends_with(b"PAR1"));
        fs::remove_dir_all(&dir).unwrap();
    }
}
