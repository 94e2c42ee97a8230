//! Reduces a long line to its visible points: the first, lowest, highest and last point of each px column.

use super::drawing::Point;

/// Splits points into runs of finite ones and thins each run. Points are in px, with ascending x.
pub(super) fn thin(points: impl Iterator<Item = Point>) -> Vec<Vec<Point>> {
    let mut runs = Vec::new();
    let mut run = PixelRun::default();
    for point in points {
        if point.0.is_finite() && point.1.is_finite() {
            run.push(point);
        } else {
            runs.extend(std::mem::take(&mut run).finish());
        }
    }
    runs.extend(run.finish());
    runs
}

#[derive(Default)]
struct PixelRun {
    done: Vec<Point>,
    column: Option<PixelColumn>,
}

/// The extreme points of one px column.
struct PixelColumn {
    x: f64,
    first: Point,
    lowest: (u64, Point),
    highest: (u64, Point),
    last: Point,
    seen: u64,
}

impl PixelRun {
    fn push(&mut self, point: Point) {
        match &mut self.column {
            Some(column) if column.x == point.0.floor() => column.add(point),
            column => {
                let new = PixelColumn {
                    x: point.0.floor(),
                    first: point,
                    lowest: (0, point),
                    highest: (0, point),
                    last: point,
                    seen: 1,
                };
                if let Some(old) = column.replace(new) {
                    old.write(&mut self.done);
                }
            }
        }
    }

    /// The thinned run; `None` for a single point, which a line does not show.
    fn finish(mut self) -> Option<Vec<Point>> {
        if let Some(column) = self.column.take() {
            column.write(&mut self.done);
        }
        (self.done.len() > 1).then_some(self.done)
    }
}

impl PixelColumn {
    fn add(&mut self, point: Point) {
        if point.1 < self.lowest.1.1 {
            self.lowest = (self.seen, point);
        }
        if point.1 > self.highest.1.1 {
            self.highest = (self.seen, point);
        }
        self.last = point;
        self.seen += 1;
    }

    fn write(self, to: &mut Vec<Point>) {
        let (a, b) = if self.lowest.0 < self.highest.0 {
            (self.lowest.1, self.highest.1)
        } else {
            (self.highest.1, self.lowest.1)
        };
        for point in [self.first, a, b, self.last] {
            if to.last() != Some(&point) {
                to.push(point);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_are_kept_and_gaps_split_runs() {
        let points =
            [(0.0, 1.0), (1.0, 2.0), (2.0, f64::NAN), (3.0, 1.0), (4.0, f64::NAN), (5.0, 5.0), (6.0, 6.0)];
        let runs = thin(points.into_iter());
        assert_eq!(runs, [vec![(0.0, 1.0), (1.0, 2.0)], vec![(5.0, 5.0), (6.0, 6.0)]]);
    }

    #[test]
    fn extremes_survive() {
        // One spike up and one down among a million points on 800 px.
        let points = (0..1_000_000).map(|i| {
            let y = match i {
                333_333 => -50.0,
                777_777 => 90.0,
                _ => f64::from(i % 7),
            };
            (f64::from(i) / 1250.0, y)
        });
        let runs = thin(points);
        assert_eq!(runs.len(), 1);
        assert!(runs[0].len() <= 4 * 800, "{}", runs[0].len());
        let ys = || runs[0].iter().map(|p| p.1);
        assert_eq!((ys().fold(0.0, f64::min), ys().fold(0.0, f64::max)), (-50.0, 90.0));
        assert!(runs[0].windows(2).all(|w| w[0].0 <= w[1].0), "in ascending order");
    }
}
