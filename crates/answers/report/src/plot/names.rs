//! Places the labels of marked points as close to their points as possible without overlaps.

use super::drawing::Point;
use super::font;
use super::frame::{SLACK, SMALL};

/// Height of a label, and side of a mark's square, px.
const HEIGHT: f64 = 12.0;
const MARK: f64 = 12.0;
/// Number of directions and distances to try, and the step from one distance to the next, px.
const DIRECTIONS: u32 = 16;
const DISTANCES: u32 = 40;
const STEP: f64 = 3.0;

/// Centre and size of a box.
type Box2 = (Point, Point);

/// Whether two boxes overlap.
fn overlap(a: Box2, b: Box2) -> bool {
    let disjoint = |a: f64, b: f64, wa: f64, wb: f64| (a - b).abs() >= (wa + wb) / 2.0;
    !disjoint(a.0.0, b.0.0, a.1.0, b.1.0) && !disjoint(a.0.1, b.0.1, a.1.1, b.1.1)
}

/// The centre of each point's label, px: without overlap with `marks` and other labels, within
/// `left`..`right` and `top`..`bottom`. A label without a free place is put on its point.
pub(super) fn placed(
    names: &[(Point, String)],
    marks: &[Point],
    (left, right): (f64, f64),
    (top, bottom): (f64, f64),
) -> Vec<Point> {
    let mut taken: Vec<Box2> = marks.iter().map(|&at| (at, (MARK, MARK))).collect();
    let mut places = Vec::new();
    for (point, name) in names {
        // The viewer's font may be wider than the embedded one.
        let size = (font::width(name, SMALL) * SLACK + 6.0, HEIGHT);
        let free = |&(x, y): &Point| {
            x - size.0 / 2.0 >= left
                && x + size.0 / 2.0 <= right
                && (top..=bottom).contains(&y)
                && !taken.iter().any(|other| overlap(((x, y), size), *other))
        };
        let around = (1..=DISTANCES).flat_map(|far| {
            (0..DIRECTIONS).map(move |k| {
                let angle = f64::from(k) / f64::from(DIRECTIONS) * std::f64::consts::TAU;
                let (x, y) = (angle.cos() * (MARK + size.0) / 2.0, angle.sin() * (MARK + HEIGHT) / 2.0);
                let far = 1.0 + STEP * f64::from(far - 1) / MARK;
                (point.0 + x * far, point.1 - y * far)
            })
        });
        let place = around.into_iter().find(|place| free(place)).unwrap_or(*point);
        taken.push((place, size));
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_coinciding_points_do_not_overlap() {
        for step in [0.0, 0.5, 3.0, 20.0] {
            let named = |i: u32| ((300.0 + step * f64::from(i % 4), 200.0), (i + 1).to_string());
            let names: Vec<(Point, String)> = (0..16).map(named).collect();
            let marks: Vec<Point> = names.iter().map(|n| n.0).chain([(300.0, 200.0)]).collect();
            let places = placed(&names, &marks, (0.0, 600.0), (0.0, 400.0));
            let size = |i: usize| (font::width(&names[i].1, SMALL), HEIGHT);
            for (i, &place) in places.iter().enumerate() {
                assert!(marks.iter().all(|&m| !overlap((place, size(i)), (m, (MARK, MARK)))), "{step}: {i}");
                let mut others = places.iter().enumerate().filter(|(j, _)| *j != i);
                assert!(others.all(|(j, &p)| !overlap((place, size(i)), (p, size(j)))), "{step}: {i}");
            }
        }
        let alone = placed(&[((300.0, 300.0), "1".into())], &[(300.0, 300.0)], (0.0, 600.0), (0.0, 400.0));
        assert!(
            (alone[0].0 - 300.0).hypot(alone[0].1 - 300.0) <= 2.0 * MARK,
            "a single label is near its point: {alone:?}"
        );
    }
}
