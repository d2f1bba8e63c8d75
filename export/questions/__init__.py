"""The question bank of the chapters: `docs/questions/chapter-N.yml`, checked and put onto the pages."""
