"""Reports: a replay, a run or a trace becomes text. Pure: values in, strings out."""
