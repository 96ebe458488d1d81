"""Result rows: what programs print, and what becomes of it.

A reader turns lines into rows (`json_rows`, `text_blocks`, `tflite`), `converters` finds the reader, `entries` puts
rows together, `figures` makes metrics and operators of them, `outputs` compares output files with golden ones.
"""
