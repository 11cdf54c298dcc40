package stopword

// The words of Thai are those of package segment, which takes compounds apart.
const thai = `
ผม ฉัน ดิฉัน ข้าพเจ้า เรา คุณ ท่าน เธอ เขา มัน พวก พวกเรา พวกเขา ตน ตัว ตัวเอง เอง ใคร กัน
นี้ นั้น โน้น นี่ นั่น นี้ เหล่านี้ เหล่านั้น ดังกล่าว แต่ละ ทุก ทั้ง ทั้งหมด ทั้งหลาย บาง อื่น อื่นๆ หลาย ใด ไหน ๆ
อะไร ทำไม อย่างไร ยังไง เมื่อไร เมื่อไหร่ เมื่อใด ที่ไหน ไหน เท่าไร เท่าไหร่ เท่าใด กี่ ไร หรือไม่ ไหม มั้ย บ้าง
และ หรือ แต่ ถ้า หาก ว่า เพราะ เนื่องจาก เพื่อ จึง ดังนั้น แม้ แม้ว่า ขณะ เมื่อ โดยที่ ซึ่ง ที่ อัน ก็ กว่า คือ
ใน บน ของ จาก ถึง ที่ กับ แก่ แด่ ต่อ โดย ด้วย ตาม ระหว่าง ใต้ เหนือ หลัง ก่อน หลังจาก ตั้งแต่ จน จนถึง สำหรับ เกี่ยวกับ ทาง ณ สู่ ไว้ เข้า ออก ขึ้น ลง ไป มา
เป็น อยู่ มี ได้ ให้ ถูก โดน จะ กำลัง เคย ต้อง ควร อาจ สามารถ แล้ว ยัง คง ใช่ การ ความ ผู้ อย่าง เช่น
ไม่ มิ ไม่ได้ เพียง เท่านั้น มาก เกิน ค่ะ ครับ คะ นะ จ้ะ
`

// A word of Vietnamese is often two syllables; the analyzer sees each by itself.
const vietnamese = `
tôi ta tớ mình bạn anh chị ông bà em nó hắn họ chúng ai
này kia ấy nọ đó đây thế vậy mọi mỗi từng tất cả các những một vài mấy
gì nào đâu sao bao nhiêu
và hay hoặc nhưng mà nếu thì vì nên bởi do để rằng dù tuy còn cũng lẫn là
của ở trong ngoài trên dưới với cho từ đến tại bằng theo về qua vào ra lên xuống khi lúc trước sau giữa cùng như hơn
có được bị đã đang sẽ vẫn phải cần không chưa chẳng đừng hãy rồi lại nữa chỉ rất quá lắm à ạ nhé
cái con chiếc sự việc cuộc
`

const indonesian = `
saya aku ku kami kita anda kamu kau engkau mu dia ia beliau nya mereka sendiri diri kalian
ini itu tersebut begini begitu demikian setiap tiap semua seluruh segala beberapa suatu sebuah seorang satu para lain lainnya
siapa apa apakah mana manakah kapan bilakah dimana kemana mengapa kenapa bagaimana berapa
dan atau tetapi tapi namun melainkan jika bila apabila kalau bahwa karena sebab sehingga agar supaya walaupun meskipun sedangkan sambil ketika saat sementara serta maka yang pun
di ke dari pada kepada daripada dalam dengan untuk bagi oleh antara tanpa sampai hingga sejak tentang terhadap melalui sebagai seperti atas bawah menurut guna akan
adalah ialah merupakan ada menjadi jadi bisa dapat boleh harus perlu mesti telah sudah sedang masih belum pernah lagi
tidak tak bukan jangan ya hanya saja juga sangat lebih paling sini situ sana
`

const malay = indonesian + `
awak beta patik tuan puan korang diorang kepunyaan
ni tu setiap sesuatu sesetengah
bilamana macam bagaimanakah berapakah mengapakah siapakah
ataupun tetapi walau kerana supaya manakala
daripada kepada pula nanti mahu hendak patut mampu ialah iaitu yakni
tiada usah cuma sahaja amat
`

// Korean writes particles at the end of a word. These stand alone.
const korean = `
나 나는 내 내가 너 너는 네 네가 저 저는 제 제가 우리 우리는 우리의 저희 당신 그 그는 그의 그녀 그들 그것 그것은 이것 이것은 저것 자신 자기 여러분
이 그 저 이런 그런 저런 어떤 어느 모든 각 각각 여러 다른 무슨 몇 한 두 아무 것 것은 것이 것을 수 등 및 때 중 약
누구 누가 무엇 무엇을 무엇이 뭐 언제 어디 어디서 어디에 왜 어떻게 얼마나 얼마 몇
그리고 그러나 하지만 그런데 그래서 그러므로 따라서 또는 혹은 또 또한 만약 만일 즉 및 하지만 그러면 그렇지만 왜냐하면
대해 대한 대하여 위해 위한 위하여 통해 통한 따라 따른 의해 관한 관해 대로 때문에 동안 사이 이후 이전 같은 같이 함께 더 가장 매우 너무 다시
있다 있는 있습니다 있으며 있어 있을 있고 없다 없는 없습니다 없이 이다 입니다 아니다 아닌 아닙니다 하다 하는 합니다 하여 해 할 한 하고 되다 되는 됩니다 된 될 되어 수 않다 않는 않습니다 않고
은 는 가 을 를 의 에 에서 으로 로 와 과 도 만 까지 부터
`

// The analyzer sees pairs of characters: these are the pairs of hiragana that
// particles, auxiliaries, pronouns and endings of verbs are made of.
const japanese = `
する すれ せず して した しま しょ しな しろ され させ せる ます まし ませ せん です でし でき きる きま でな でも では での でに です であ とき
いる いた いて いま いな ある あり あっ ない なく なか なけ けれ れば かっ った って てい てく てお てみ てし てか てき てあ ても ては てる られ れる れた れて れま れな らず ずに なる なり なっ なら なれ おり おく おい おけ たい たく たら たり だっ だろ ろう よう うに うな うと うか しか しか
から まで より には にも にて につ つい にお にと によ よっ より とし とい いう いっ いい との とは とも とか へと への ので のに のは のが のを のも のと もの ため だけ など ほど くら らい ばか かり ながら なが がら つつ さえ すら こそ さい ださ くだ ござ ざい
こと これ この ここ こう こん それ その そこ そう そん あれ あの あそ どれ どの どこ どう どん どち どな なに なぜ いつ だれ いか いく くつ くら また まだ もう すで また ただ しか かし もし はい いえ
を は が に で と も の へ や か ね よ わ
`
