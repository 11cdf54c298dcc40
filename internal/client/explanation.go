package client

import "github.com/google/uuid"

// An Explanation says how the score of a hit came about.
type Explanation struct {
	Tier         string               `json:"tier"`
	CollectionID uuid.UUID            `json:"collectionId"`
	Change       int64                `json:"change"`
	Words        []ExplainedWord      `json:"words"`
	BM25F        float64              `json:"bm25f"`
	Similarity   *ExplainedSimilarity `json:"similarity"`
	SecondPass   ExplainedSecondPass  `json:"secondPass"`
	Evidence     map[string]any       `json:"evidence"`
	Order        ExplainedSum         `json:"order"`
	LogOdds      ExplainedSum         `json:"logOdds"`
	Confidence   float64              `json:"confidence"`
	Rating       *float64             `json:"rating"`
}

// An ExplainedWord is a word of the query in a passage.
type ExplainedWord struct {
	Text   string   `json:"text"`
	Terms  []string `json:"terms"`
	Fields []struct {
		Field       string  `json:"field"`
		Occurrences int     `json:"occurrences"`
		Weight      float64 `json:"weight"`
	} `json:"fields"`
	DocumentFrequency int     `json:"documentFrequency"`
	QueryFrequency    float64 `json:"queryFrequency"`
	IDF               float64 `json:"idf"`
	Weight            float64 `json:"weight"`
	Score             float64 `json:"score"`
}

// ExplainedSimilarity is the vector evidence of a passage.
type ExplainedSimilarity struct {
	Cosine              float64 `json:"cosine"`
	BackgroundMean      float64 `json:"backgroundMean"`
	BackgroundDeviation float64 `json:"backgroundDeviation"`
	ZScore              float64 `json:"zScore"`
	Known               float64 `json:"known"`
}

// ExplainedSecondPass is the expansion of the query by the second pass.
type ExplainedSecondPass struct {
	Gate  float64 `json:"gate"`
	Terms []struct {
		Term    string  `json:"term"`
		IDF     float64 `json:"idf"`
		Weight  float64 `json:"weight"`
		Matches bool    `json:"matches"`
		Score   float64 `json:"score"`
	} `json:"terms"`
}

// An ExplainedSum is a sum with its terms.
type ExplainedSum struct {
	Total float64 `json:"total"`
	Terms []struct {
		Name         string  `json:"name"`
		Value        float64 `json:"value"`
		Weight       float64 `json:"weight"`
		Contribution float64 `json:"contribution"`
	} `json:"terms"`
}
