//! Tables of time series, exposed by the Arrow PyCapsule interface.

use crate::columns::{arrays, constant, field, states, words_type};
use arrow_array::cast::AsArray;
use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int8Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StructArray, UInt32Array};
use arrow_buffer::{Buffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use experiment::Outcomes;
use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCapsule};
use result::{Columns, ElementSeries, FlowSeries};
use std::sync::Arc;

/// A part of a table: the series of one flow or element in one repeat of one variant.
struct SeriesBatch {
    /// Indexes: the variant as in the summary, the repeat from 0, and the flow or element.
    place: [usize; 3],
    rows: RecordBatch,
}

/// All time series of an experiment.
pub struct RunSeries {
    flow_schema: SchemaRef,
    flows: Vec<SeriesBatch>,
    element_schema: SchemaRef,
    elements: Vec<SeriesBatch>,
}

/// Schema of a kind of series: the columns that identify the series come before its own.
fn schema<S: Columns>(name: &str, last: Option<Field>) -> SchemaRef {
    let series_id = ["variant", "clock", name].map(|name| Field::new(name, words_type(), false));
    let repeat = Field::new("repeat", DataType::UInt32, false);
    let columns = S::COLUMNS.iter().map(field);
    Arc::new(Schema::new(
        series_id.into_iter().chain([repeat]).chain(columns).chain(last).collect::<Vec<_>>(),
    ))
}

/// Builds the batches of one kind of series.
struct BatchMaker {
    schema: SchemaRef,
    /// As many zeros as the longest series has rows, shared by all constant columns.
    zeros: Buffer,
    made: Vec<SeriesBatch>,
}

impl BatchMaker {
    /// Adds a series; `repeats` contains its repeat's number in at least as many rows.
    fn add(
        &mut self,
        place: [usize; 3],
        series_id: [&str; 3],
        repeats: &ScalarBuffer<u32>,
        own: Vec<ArrayRef>,
    ) {
        let rows = own.first().map_or(0, |column| column.len());
        let mut columns: Vec<ArrayRef> = series_id.map(|word| constant(word, &self.zeros, rows)).into();
        columns.push(Arc::new(UInt32Array::new(repeats.slice(0, rows), None)));
        columns.extend(own);
        // All columns have the same length and match the schema by construction.
        if let Ok(rows) = RecordBatch::try_new(self.schema.clone(), columns) {
            self.made.push(SeriesBatch { place, rows });
        }
    }
}

impl RunSeries {
    /// Takes the series out of the outcomes.
    pub fn of(outcomes: Outcomes) -> RunSeries {
        let all = || outcomes.variants.iter().flat_map(|v| &v.outcomes);
        let flow_rows = all().flat_map(|o| &o.flow_series).map(|s| s.time_s.len());
        let element_rows = all().flat_map(|o| &o.element_series).map(|s| s.time_s.len());
        let longest = flow_rows.chain(element_rows).max().unwrap_or(0);
        let zeros = Buffer::from_vec(vec![0u8; longest]);
        let state = Field::new("state", words_type(), false);
        let maker = |schema| BatchMaker { schema, zeros: zeros.clone(), made: Vec::new() };
        let mut flows = maker(schema::<FlowSeries>("flow", Some(state)));
        let mut elements = maker(schema::<ElementSeries>("element", None));
        let finished = outcomes.variants.into_iter().filter(|v| !v.outcomes.is_empty());
        for (variant, of) in finished.enumerate() {
            let (name, clock) = (of.variant, of.clock.name());
            for (number, (outcome, repeat)) in of.outcomes.into_iter().zip(of.repeats).enumerate() {
                let repeats = ScalarBuffer::from(vec![repeat + 1; longest]);
                for (at, mut series) in outcome.flow_series.into_iter().enumerate() {
                    let mut own = arrays(&mut series);
                    own.push(states(&mut series));
                    flows.add([variant, number, at], [&name, clock, &series.name], &repeats, own);
                }
                for (at, mut series) in outcome.element_series.into_iter().enumerate() {
                    let own = arrays(&mut series);
                    elements.add([variant, number, at], [&name, clock, &series.name], &repeats, own);
                }
            }
        }
        RunSeries {
            flow_schema: flows.schema,
            flows: flows.made,
            element_schema: elements.schema,
            elements: elements.made,
        }
    }

    /// Selects time series of flows; `None` selects all.
    pub fn flows(&self, variant: Option<usize>, repeat: Option<usize>, flow: Option<usize>) -> SeriesTable {
        SeriesTable::chosen(&self.flow_schema, &self.flows, [variant, repeat, flow])
    }

    /// Selects time series of elements; `None` selects all.
    pub fn elements(
        &self,
        variant: Option<usize>,
        repeat: Option<usize>,
        element: Option<usize>,
    ) -> SeriesTable {
        SeriesTable::chosen(&self.element_schema, &self.elements, [variant, repeat, element])
    }
}

/// A table of time series, readable without copying by any library with the Arrow PyCapsule interface.
#[pyclass(frozen, module = "longfat._native")]
pub struct SeriesTable {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl SeriesTable {
    fn chosen(schema: &SchemaRef, all: &[SeriesBatch], wanted: [Option<usize>; 3]) -> SeriesTable {
        let fits =
            |b: &&SeriesBatch| b.place.iter().zip(wanted).all(|(is, want)| want.is_none_or(|w| w == *is));
        let batches = all.iter().filter(fits).map(|b| b.rows.clone()).collect();
        SeriesTable { schema: schema.clone(), batches }
    }

    fn index(&self, name: &str) -> PyResult<usize> {
        self.schema.index_of(name).map_err(|_| PyKeyError::new_err(name.to_string()))
    }
}

fn arrow(e: ArrowError) -> PyErr {
    PyRuntimeError::new_err(e.to_string())
}

#[pymethods]
impl SeriesTable {
    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|f| f.name().clone()).collect()
    }

    /// Number of rows.
    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Size of all buffers, bytes; a shared buffer counts once for each batch that uses it.
    #[getter]
    fn nbytes(&self) -> usize {
        self.batches.iter().map(RecordBatch::get_array_memory_size).sum()
    }

    /// A numeric column as float64 in native byte order, NaN where unknown, copied. For a text column, its
    /// dictionary indexes.
    fn doubles<'py>(&self, py: Python<'py>, column: &str) -> PyResult<Bound<'py, PyBytes>> {
        let at = self.index(column)?;
        let mut bytes = Vec::with_capacity(8 * self.__len__());
        for batch in &self.batches {
            let array = batch.column(at);
            for row in 0..array.len() {
                bytes.extend(double(array, row).to_ne_bytes());
            }
        }
        Ok(PyBytes::new(py, &bytes))
    }

    /// A text column, one string per row.
    fn words(&self, column: &str) -> PyResult<Vec<String>> {
        let at = self.index(column)?;
        let mut all = Vec::new();
        for batch in &self.batches {
            let Some(array) = batch.column(at).as_dictionary_opt::<Int8Type>() else {
                return Err(PyKeyError::new_err(format!("{column} is a numeric column")));
            };
            let names = array.values().as_string::<i32>();
            all.extend(array.keys().values().iter().map(|&key| names.value(key as usize).to_string()));
        }
        Ok(all)
    }

    /// `ArrowSchema` in a capsule.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema).map_err(arrow)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// `ArrowArrayStream` in a capsule, with one batch per series. A requested schema is ignored, which the
    /// interface permits.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let batches: Vec<Result<RecordBatch, ArrowError>> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    /// `ArrowSchema` and `ArrowArray` in capsules, for a table with a single series.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        let _ = requested_schema;
        let [batch] = &self.batches[..] else {
            let text = "a table of several series must be read as a stream: __arrow_c_stream__";
            return Err(PyRuntimeError::new_err(text));
        };
        let data = StructArray::from(batch.clone()).into_data();
        let (array, schema): (FFI_ArrowArray, FFI_ArrowSchema) = to_ffi(&data).map_err(arrow)?;
        let schema = PyCapsule::new_with_value(py, schema, c"arrow_schema")?;
        Ok((schema, PyCapsule::new_with_value(py, array, c"arrow_array")?))
    }
}

/// A cell as a float64.
fn double(array: &ArrayRef, row: usize) -> f64 {
    if array.is_null(row) {
        return f64::NAN;
    }
    match array.data_type() {
        DataType::Float64 => array.as_primitive::<Float64Type>().value(row),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row) as f64,
        DataType::UInt32 => array.as_primitive::<UInt32Type>().value(row).into(),
        _ => array.as_dictionary::<Int8Type>().keys().value(row).into(),
    }
}
