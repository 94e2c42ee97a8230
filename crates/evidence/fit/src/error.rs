//! The errors of a fit.

use crate::verdict::SummaryVerdict;
use crate::words::FitWords;
use experiment::Unfinished;

/// Why there is no fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FitError {
    /// No TCP flow with data.
    #[error("it has no TCP flow with data: there is nothing to fit")]
    NoFlow,
    /// Data packets of the largest flow, and the least number that a fit needs.
    #[error("the largest flow has {0} data packets; a fit needs at least {1}")]
    TooFew(u64, u64),
    /// Only one direction was captured.
    #[error("only one direction of the largest flow was captured: without its ACKs there are no round trips")]
    OneWay,
    /// No round trip was measured.
    #[error("no round trip of the largest flow could be measured")]
    NoRtt,
    /// A summary that gives a verdict but no scenario.
    #[error("{}", .0.headline)]
    CannotTell(Box<SummaryVerdict>),
    /// A summary lacks something or contains a wrong value.
    #[error("line {line}: `{key}`: {why}")]
    Malformed {
        /// Line number, counted from 1.
        line: usize,
        key: String,
        /// The fault, and what would be right.
        why: String,
    },
    /// The caller ended the search.
    #[error("ended before there was a fit")]
    Stopped,
    /// A run failed.
    #[error("{0}")]
    Failed(String),
}

impl From<Unfinished> for FitError {
    fn from(why: Unfinished) -> FitError {
        match why {
            Unfinished::Stopped => FitError::Stopped,
            Unfinished::Failed(how) => FitError::Failed(how),
        }
    }
}

impl FitError {
    /// The message in both languages.
    pub fn words(&self) -> FitWords {
        let zh = match self {
            FitError::NoFlow => "其中没有带数据的 TCP 流：没有可拟合的内容".into(),
            FitError::TooFew(n, least) => {
                format!("最大的流只有 {n} 个数据包；少于 {least} 个无法说明路径")
            }
            FitError::OneWay => "最大的流只抓到一个方向：没有它的 ACK 就没有往返时延".into(),
            FitError::NoRtt => "最大的流没有可测的往返时延".into(),
            FitError::CannotTell(verdict) => format!("无法生成场景：{}", verdict.headline),
            FitError::Malformed { line, key, why } => format!("第 {line} 行：`{key}`：{why}"),
            FitError::Stopped => "在得到结果之前已结束".into(),
            FitError::Failed(why) => format!("运行失败：{why}"),
        };
        FitWords { en: self.to_string(), zh }
    }
}
