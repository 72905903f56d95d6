"""Linear transformers, and the predictors they are compared with: ridges and Bayes."""
