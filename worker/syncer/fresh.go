package syncer

// searchable notes how long the change that was just stored took: from its
// modification where the source tells when that was, and it lies between the
// last time the item was looked at and now, else from when the walk met it. What
// was only made anew from the same version is no change.
func (s *slice) searchable(t task) {
	if t.known.Live() && t.item.Version != "" && t.item.Version == t.known.DocumentVersion {
		return
	}
	now := s.engine.opt.Now()
	since := t.seen
	if waiting := t.known.WaitingSince; !waiting.IsZero() && waiting.Before(since) {
		since = waiting
	}
	looked := t.known.ProcessedAt
	if looked.IsZero() && s.connector.LastSync != nil {
		looked = *s.connector.LastSync
	}
	// Before it was looked at for the first time, an item may be years old: that
	// is no delay of ours.
	if changed := t.item.ModifiedAt; !looked.IsZero() && changed.After(looked) && changed.Before(since) {
		since = changed
	}
	s.run.Searchable(now.Sub(since))
}
