//! Tests of studies, tables and schemas. They are one program, so that generic code is compiled once.

mod reproduce {
    mod expression;
    mod read;
    mod studies;
}
mod tables {
    mod schema;
    mod series;
}
