-- Run at every start; leaves existing tables unchanged. The lock is for services that start at the same time, for which
-- IF NOT EXISTS is not enough.
SELECT pg_advisory_xact_lock(hashtext('human-tide schema'));

CREATE TABLE IF NOT EXISTS walkers (
  id   uuid PRIMARY KEY,
  name text NOT NULL
);

-- A phone numbers its positions (seq), so a position that is sent again is the same row. A foreign key to walkers would
-- cost a lookup per row and guarantee nothing that is needed here.
CREATE TABLE IF NOT EXISTS positions (
  walker   uuid NOT NULL,
  seq      bigint NOT NULL,
  at       timestamptz NOT NULL,
  lat      double precision NOT NULL CHECK (lat BETWEEN -90 AND 90),
  lon      double precision NOT NULL CHECK (lon BETWEEN -180 AND 180),
  accuracy real NOT NULL,
  PRIMARY KEY (walker, seq)
);

-- Replay and clean-up read by time.
CREATE INDEX IF NOT EXISTS positions_at ON positions (at);
