"""Operations on a collection of 10,000 entities: batches, streams and pages."""
