package embed_test

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"strings"
	"testing"

	"github.com/magpie-search/magpie/internal/model/embed"
	"github.com/magpie-search/magpie/internal/model/embed/embedtest"
)

func TestBuiltinKeepsTheContract(t *testing.T) {
	t.Parallel()
	embedtest.Run(t, embed.NewBuiltin())
}

func similarity(t *testing.T, a, b string) float64 {
	t.Helper()
	vectors, err := embed.NewBuiltin().Embed(t.Context(), []string{a, b}, embed.Passage)
	if err != nil {
		t.Fatal(err)
	}
	sum := 0.0
	for i := range vectors[0] {
		sum += float64(vectors[0][i]) * float64(vectors[1][i])
	}
	return sum
}

func TestBuiltinRanksByWording(t *testing.T) {
	t.Parallel()
	query := "restore a database backup"
	near := similarity(t, query, "Restoring backups of the databases: run RESTORE with the backup's location.")
	misspelt := similarity(t, query, "resotre the databse bakcup")
	far := similarity(t, query, "The colour of the sky changes with the weather and the season.")
	if near < far+0.2 || misspelt < far+0.05 {
		t.Errorf("similarities: near %.3f, misspelt %.3f, far %.3f", near, misspelt, far)
	}
	if math.Abs(far) > 0.2 {
		t.Errorf("unrelated texts have similarity %.3f", far)
	}
	if same := similarity(t, "数据库备份与恢复", "如何恢复数据库的备份"); same < 0.2 {
		t.Errorf("Chinese texts that share words have similarity %.3f", same)
	}
	if same := similarity(t, "kv.zorblax.quux", "set kv.zorblax.quux to true"); same < 0.4 {
		t.Errorf("texts that share an unknown identifier have similarity %.3f", same)
	}
}

func TestBuiltinRanksByMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, near, far string }{
		{"car", "automobile", "kitchen"},
		{"delete a file", "remove documents", "boil an egg"},
		{"physician", "doctor", "window"},
		{"the printer does not work", "der Drucker funktioniert nicht", "die Katze schläft auf dem Sofa"},
		{"open a document", "ouvrir un document", "la pluie et le vent"},
		{"save the image", "guardar la imagen", "el precio del pan"},
		{"database", "数据库", "天气"},
		{"print preview", "印刷プレビュー", "動物園"},
		{"cat", "बिल्ली", "ट्रेन"},
		{"open the file", "فتح الملف", "البحر"},
		{"delete the file", "xóa tập tin", "mặt trời"},
		{"print the document", "พิมพ์เอกสาร", "ทะเล"},
		{"save the document", "belgeyi kaydet", "deniz"},
		{"open the file", "파일 열기", "고양이"},
		{"save the document", "αποθήκευση του εγγράφου", "η θάλασσα"},
	} {
		near, far := similarity(t, c.text, c.near), similarity(t, c.text, c.far)
		t.Logf("%s: %s %.3f, %s %.3f", c.text, c.near, near, c.far, far)
		if near < far+0.1 {
			t.Errorf("%q is %.3f from %q and %.3f from %q", c.text, near, c.near, far, c.far)
		}
	}
}

// The digest holds on every machine: collections embedded on one are searched on another.
func TestBuiltinVectorsNeverChange(t *testing.T) {
	t.Parallel()
	texts := []string{"", "Backup", strings.Repeat("kv.rangefeed.enabled and 数据库 ", 40), "Straße, naïve, резервные копии", "फ़ाइल, ไฟล์ ใช้, ملف, tập tin, 파일"}
	vectors, err := embed.NewBuiltin().Embed(t.Context(), texts, embed.Passage)
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.New()
	for _, vector := range vectors {
		for _, value := range vector {
			hash.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(value)))
		}
	}
	const want = "577371bf08ef681a"
	if got := hex.EncodeToString(hash.Sum(nil)[:8]); got != want {
		t.Errorf("vectors changed: digest %s, want %s; a changed embedder needs a new model name", got, want)
	}
}

func TestRegistryFindsModelsAndRefusesRepeats(t *testing.T) {
	t.Parallel()
	builtin := embed.NewBuiltin()
	registry, err := embed.NewRegistry(builtin)
	if err != nil {
		t.Fatal(err)
	}
	if found, ok := registry.Lookup(embed.BuiltinModel); !ok || found != registry.Default() {
		t.Error("the default is not found by its name")
	}
	if _, ok := registry.Lookup("other"); ok {
		t.Error("an unknown model was found")
	}
	if _, err := embed.NewRegistry(builtin, builtin); err == nil {
		t.Error("a repeated name was accepted")
	}
	if _, err := embed.NewRegistry(); err == nil {
		t.Error("an empty registry was accepted")
	}
}

func BenchmarkBuiltin(b *testing.B) {
	short := "How do I restore a full backup of one database into another cluster?"
	long := strings.Repeat("The BACKUP statement allows you to create full or incremental backups of your cluster's schema and data. ", 10)
	for name, text := range map[string]string{"short": short, "passage": long} {
		b.Run(name, func(b *testing.B) {
			builtin := embed.NewBuiltin()
			texts := make([]string, 64)
			for i := range texts {
				texts[i] = text
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := builtin.Embed(b.Context(), texts, embed.Passage); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(texts))/b.Elapsed().Seconds(), "texts/s")
		})
	}
}
