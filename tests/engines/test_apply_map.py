import pandas as pd


def test_every_engine_gives_back_the_rows_it_was_given(engine, make_frame, collect):
    rows = pd.DataFrame({"row": [0, 1, 2], "score": [0.0, 0.25, 1.0], "text": ["a", "b", "c"]})
    back = collect(make_frame(engine, rows)).sort_values("row").reset_index(drop=True)
    assert back["score"].tolist() == [0.0, 0.25, 1.0]
    assert back["text"].tolist() == ["a", "b", "c"]
