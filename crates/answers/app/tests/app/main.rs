//! Studies, tables and schemas of the application. One program of them all: what is generic is compiled once.

mod reproduce {
    mod expression;
    mod read;
    mod studies;
}
mod tables {
    mod schema;
    mod series;
}
