//! Questions about surfaces have no gaps: not on grid lines, diagonals, corners and borders.
#![allow(missing_docs)]

use nimbus_model::{BodyDesc, BodySpawn, Pose, Quat, Rng, Shape, Vec3, Velocity, World};
use nimbus_physics::{Filter, PhysicsWorld, QueryMirror};
use std::sync::Arc;

/// Hills on a grid whose lines are not round numbers.
struct Hills {
    rows: usize,
    columns: usize,
    heights: Vec<f32>,
    scale: Vec3,
}

impl Hills {
    fn new(seed: u64, rows: usize, columns: usize, scale: Vec3) -> Hills {
        let mut rng = Rng::new(seed);
        let heights = (0..rows * columns).map(|_| rng.between(-1.0, 1.0)).collect();
        Hills { rows, columns, heights, scale }
    }

    /// A corner of the grid, as the engine has it.
    fn corner(&self, row: usize, column: usize) -> Vec3 {
        let across = |index: usize, count: usize| -0.5 + 1.0 / (count - 1) as f32 * index as f32;
        let height = self.heights[row * self.columns + column];
        Vec3::new(across(column, self.columns), height, across(row, self.rows)) * self.scale
    }

    fn triangles(&self) -> Vec<[Vec3; 3]> {
        let cells = (0..self.rows - 1).flat_map(|i| (0..self.columns - 1).map(move |j| (i, j)));
        let halves = cells.flat_map(|(i, j)| {
            let [p00, p10] = [self.corner(i, j), self.corner(i + 1, j)];
            let [p01, p11] = [self.corner(i, j + 1), self.corner(i + 1, j + 1)];
            [[p00, p10, p01], [p10, p11, p01]]
        });
        halves.collect()
    }

    fn field(&self) -> Shape {
        let (rows, columns) = (self.rows as u32, self.columns as u32);
        Shape::HeightField { rows, columns, heights: self.heights.clone(), scale: self.scale }
    }

    /// The same surface as a mesh.
    fn mesh(&self) -> Shape {
        let vertices = (0..self.rows)
            .flat_map(|i| (0..self.columns).map(move |j| (i, j)))
            .map(|(i, j)| self.corner(i, j))
            .collect();
        let index = |i: usize, j: usize| (i * self.columns + j) as u32;
        let cells = (0..self.rows - 1).flat_map(|i| (0..self.columns - 1).map(move |j| (i, j)));
        let halves = cells.flat_map(|(i, j)| {
            let [p00, p10, p01, p11] = [index(i, j), index(i + 1, j), index(i, j + 1), index(i + 1, j + 1)];
            [[p00, p10, p01], [p10, p11, p01]]
        });
        Shape::TriMesh { vertices, triangles: halves.collect() }
    }

    /// Places on the surface where two triangles or more meet, on borders, and some between.
    fn delicate_places(&self, seed: u64) -> Vec<Vec3> {
        let mut rng = Rng::new(seed);
        let mut places = Vec::new();
        for [a, b, c] in self.triangles() {
            places.extend([a, b, c]);
            for (from, to) in [(a, b), (b, c), (c, a)] {
                for share in [0.5, 0.25, rng.between(0.0, 1.0), rng.between(0.0, 1.0)] {
                    places.push(from + (to - from) * share);
                }
            }
            let (mut u, mut v) = (rng.between(0.0, 1.0), rng.between(0.0, 1.0));
            if u + v > 1.0 {
                (u, v) = (1.0 - u, 1.0 - v);
            }
            places.push(a + (b - a) * u + (c - a) * v);
        }
        places
    }

    /// True for a place on the border of the surface, give or take rounding.
    fn is_border(&self, place: Vec3) -> bool {
        let edge = (place.abs() - self.scale * 0.5).abs();
        edge.x < 1e-3 || edge.z < 1e-3
    }
}

/// How far a place is from a triangle.
fn distance_to_triangle(place: Vec3, [a, b, c]: [Vec3; 3]) -> f32 {
    let normal = (b - a).cross(c - a).normalize();
    let inside = |from: Vec3, to: Vec3| (to - from).cross(place - from).dot(normal) >= 0.0;
    if inside(a, b) && inside(b, c) && inside(c, a) {
        return (place - a).dot(normal).abs();
    }
    let to_edge = |from: Vec3, to: Vec3| {
        let share = ((place - from).dot(to - from) / (to - from).length_squared()).clamp(0.0, 1.0);
        (from + (to - from) * share - place).length()
    };
    to_edge(a, b).min(to_edge(b, c)).min(to_edge(c, a))
}

struct Stage {
    hills: Hills,
    /// What and where it is.
    name: String,
    at: Pose,
    world: PhysicsWorld,
    mirror: QueryMirror,
}

/// The same hills as a field and as a mesh, here and there; before and after a step.
fn stages(seed: u64) -> Vec<Stage> {
    let poses = [
        Pose::IDENTITY,
        Pose::at(Vec3::new(103.7, -4.3, 51.1)),
        Pose::at(Vec3::new(-1.1, 2.2, 3.3)).turned(Quat::from_rotation_y(0.7) * Quat::from_rotation_x(0.2)),
    ];
    let mut stages = Vec::new();
    for at in poses {
        for mesh in [false, true] {
            for stepped in [false, true] {
                let hills = Hills::new(seed, 9, 12, Vec3::new(33.3, 2.7, 20.1));
                let mut model = World::new("hills");
                let shape = if mesh { hills.mesh() } else { hills.field() };
                let (desc, velocity) = (Arc::new(BodyDesc::fixed(shape)), Velocity::ZERO);
                model.bodies.push(BodySpawn { desc, pose: at, velocity });
                let mut world = PhysicsWorld::new(&model, 1);
                if stepped {
                    world.step();
                }
                let mirror = QueryMirror::new(&model, 1);
                let form = if mesh { "mesh" } else { "field" };
                let name = format!("{form} at {}, stepped: {stepped}", at.position);
                stages.push(Stage { hills, name, at, world, mirror });
            }
        }
    }
    stages
}

#[test]
fn a_ray_straight_down_meets_the_surface_wherever_it_comes_down() {
    let (mut asked, mut borders) = (0, 0);
    for mut stage in stages(3) {
        let down = stage.at.rotation * Vec3::NEG_Y;
        for place in stage.hills.delicate_places(7) {
            let border = stage.hills.is_border(place);
            // What rounding takes from a pose may take a border away under a ray.
            if border && stage.at != Pose::IDENTITY {
                continue;
            }
            let origin = stage.at.transform(place) - down * 10.0;
            let answers = [
                stage.world.ray_cast(origin, down, 100.0, Filter::SOLIDS),
                stage.mirror.ray_cast(origin, down, 100.0, Filter::SOLIDS),
            ];
            for hit in answers {
                let hit = hit.unwrap_or_else(|| panic!("{}: falls through at {place}", stage.name));
                assert!((hit.distance - 10.0).abs() < 2e-3, "{place}: {hit:?}");
                assert!(hit.normal.dot(down) < 0.0, "{place}: {hit:?}");
            }
            asked += 1;
            borders += usize::from(border);
        }
    }
    assert!(asked > 10_000 && borders > 500, "{asked} asked, {borders} on borders");
}

#[test]
fn slanted_rays_meet_the_first_triangle_in_their_way() {
    let mut rng = Rng::new(11);
    let mut crossed = 0;
    for mut stage in stages(4) {
        let triangles = stage.hills.triangles();
        for place in stage.hills.delicate_places(8).into_iter().filter(|place| !stage.hills.is_border(*place)) {
            let mut towards = rng.point(Vec3::splat(-1.0), Vec3::splat(1.0)).normalize();
            if rng.chance(0.3) {
                // Along a grid line.
                let axis = if rng.chance(0.5) { Vec3::X } else { Vec3::Z };
                towards = (axis * rng.between(-1.0, 1.0) + Vec3::NEG_Y * rng.between(0.1, 1.0)).normalize();
            }
            let (origin, direction) = (place - towards * 6.0, stage.at.rotation * towards);
            let from = stage.at.transform(origin);
            let answer = stage.world.ray_cast(from, direction, 50.0, Filter::SOLIDS);
            assert_eq!(
                answer,
                stage.mirror.ray_cast(from, direction, 50.0, Filter::SOLIDS),
                "worlds and mirrors agree"
            );
            let side = |at: Vec3| height(&triangles, at).map(|height| at.y > height);
            let (before, after) = (side(place - towards * 0.02), side(place + towards * 0.02));
            // A ray that only grazes a ridge may pass it.
            let crosses = before.is_some() && after.is_some() && before != after;
            crossed += usize::from(crosses);
            assert!(!crosses || answer.is_some_and(|hit| hit.distance < 6.02), "{place} towards {towards}: {answer:?}");
            let Some(hit) = answer else { continue };
            let met = origin + towards * hit.distance;
            let off = triangles.iter().map(|triangle| distance_to_triangle(met, *triangle)).fold(f32::MAX, f32::min);
            assert!(off < 2e-3, "{place} towards {towards}: {hit:?} is {off} m off the surface");
            let way = (0..60).map(|step| origin + towards * (hit.distance * step as f32 / 60.0));
            let sides: Vec<bool> = way.filter_map(side).collect();
            assert!(sides.windows(2).all(|pair| pair[0] == pair[1]), "{place} towards {towards}: went through before");
        }
    }
    assert!(crossed > 10_000, "{crossed} crossed");
}

/// The height of the surface above or below a place.
fn height(triangles: &[[Vec3; 3]], at: Vec3) -> Option<f32> {
    triangles.iter().find_map(|[a, b, c]| {
        let cross = |from: Vec3, to: Vec3, point: Vec3| {
            (to.x - from.x) * (point.z - from.z) - (to.z - from.z) * (point.x - from.x)
        };
        let (u, v, w) = (cross(*b, *c, at), cross(*c, *a, at), cross(*a, *b, at));
        let inside = (u >= 0.0 && v >= 0.0 && w >= 0.0) || (u <= 0.0 && v <= 0.0 && w <= 0.0);
        inside.then(|| (a.y * u + b.y * v + c.y * w) / (u + v + w))
    })
}

#[test]
fn a_moving_ball_stops_where_it_first_touches_the_surface() {
    const RADIUS: f32 = 0.3;
    let mut rng = Rng::new(5);
    let mut met = 0;
    for mut stage in stages(6) {
        let triangles = stage.hills.triangles();
        let gap = |centre: Vec3| {
            let distances = triangles.iter().map(|triangle| distance_to_triangle(centre, *triangle));
            distances.fold(f32::MAX, f32::min) - RADIUS
        };
        let places = stage.hills.delicate_places(9);
        for (index, place) in places.into_iter().enumerate().filter(|(index, _)| index % 7 == 0) {
            let towards = match index % 3 {
                0 => Vec3::NEG_Y,
                // Just above the ground, along it.
                1 => Vec3::new(rng.between(-1.0, 1.0), 0.0, rng.between(-1.0, 1.0)).normalize(),
                _ => rng.point(Vec3::splat(-1.0), Vec3::splat(1.0)).normalize(),
            };
            let origin = place - towards * 4.0 + Vec3::Y * rng.between(0.0, 0.5);
            if gap(origin) < 0.02 {
                continue;
            }
            let (from, direction) = (Pose::at(stage.at.transform(origin)), stage.at.rotation * towards);
            let ball = Shape::ball(RADIUS);
            let answer = stage.world.shape_cast(&ball, from, direction, 40.0, Filter::SOLIDS);
            assert_eq!(answer, stage.mirror.shape_cast(&ball, from, direction, 40.0, Filter::SOLIDS));
            // Never a step much farther than the gap: so nothing is stepped over.
            let end = answer.map_or(40.0, |hit| hit.distance);
            let (mut travelled, mut deepest) = (0.0, f32::MAX);
            while travelled < end {
                let left = gap(origin + towards * travelled);
                deepest = deepest.min(left);
                travelled += left.max(0.01);
            }
            assert!(deepest > -0.01, "{}: {origin} {towards}: {answer:?}, but {deepest} m deep before", stage.name);
            if let Some(hit) = answer {
                let left = gap(origin + towards * hit.distance);
                assert!(left.abs() < 0.01, "{}: {origin} {towards}: {hit:?} leaves {left} m", stage.name);
                met += 1;
            }
        }
    }
    assert!(met > 300, "{met} met");
}

#[test]
fn the_nearest_point_and_overlaps_are_those_of_the_nearest_triangle() {
    let mut rng = Rng::new(15);
    for mut stage in stages(16) {
        let triangles = stage.hills.triangles();
        for place in stage.hills.delicate_places(17).into_iter().step_by(7) {
            let up = rng.between(-2.0, 2.0);
            let lifted = place + Vec3::Y * if up.abs() < 0.3 { 0.0 } else { up };
            let expected =
                triangles.iter().map(|triangle| distance_to_triangle(lifted, *triangle)).fold(f32::MAX, f32::min);
            let from = stage.at.transform(lifted);
            let near = stage.world.nearest(from, 50.0, Filter::SOLIDS).expect("it is near");
            assert_eq!(Some(near), stage.mirror.nearest(from, 50.0, Filter::SOLIDS));
            assert!((near.distance - expected).abs() < 2e-3, "{lifted}: {near:?}, not {expected}");
            for (radius, overlaps) in [(expected + 0.02, true), (expected - 0.02, false)] {
                if radius < 0.01 {
                    continue;
                }
                let found = stage.world.overlap(&Shape::ball(radius), Pose::at(from), Filter::SOLIDS);
                assert_eq!(!found.is_empty(), overlaps, "{lifted}: ball of {radius}, surface at {expected}");
                assert_eq!(found, stage.mirror.overlap(&Shape::ball(radius), Pose::at(from), Filter::SOLIDS));
            }
        }
    }
}
