"""The interfaces of other libraries, answered by Tabella: an example of theirs runs with its import changed.

    from tabella.like.autogluon import TabularDataset, TabularPredictor

What is asked is answered by the same engine as everywhere else, in this process unless TABELLA_URL names a
service. Choices of models, of their training and of blocking are taken and not needed. They need pandas."""
