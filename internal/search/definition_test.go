package search_test

import (
	"fmt"
	"testing"

	"github.com/magpie-search/magpie/internal/search"
)

// A subject has a page of its own, and another page that says its name more often.
type subject struct{ question, title, introduction, section, other, text string }

// definitions are questions for the meaning of a word, by language.
func definitions() map[string][]subject {
	return map[string][]subject{
		"en": {
			{"what is a queue", "Queue", "Waiting jobs are kept in order until a worker is free to run them.", "Pause a queue", "Developing queue plugins", "A queue plugin extends the queue. Register the queue, open the queue and close the queue."},
			{"What is a worker?", "Workers", "A process on a machine of its own that runs jobs one after another.", "Start a worker", "Worker release notes", "The worker now logs. A worker that stops tells the other worker. The worker restarts."},
			{"what's a lease", "Lease", "The right to run a job for a limited time, which must be renewed before it ends.", "Length of a lease", "Lease test suite", "Each lease test takes a lease, loses the lease and takes another lease."},
			{"what are schedules", "Schedule", "Jobs that are started again and again, at times given by a line of text.", "Delete a schedule", "Schedule command reference", "Use schedule add, schedule list and schedule remove. A schedule name is unique among schedules."},
			{"what is the dead letter box", "Dead letter box", "Here end the jobs that failed too often, so that a person can look at them.", "Empty the dead letter box", "Writing a dead letter box exporter", "The exporter reads the dead letter box and counts the dead letter box by name of the dead letter box."},
		},
		"de": {
			{"Was ist eine Warteschlange?", "Warteschlange", "Hier liegen die Aufträge in ihrer Reihenfolge, bis jemand Zeit für sie hat.", "Eine Warteschlange anhalten", "Erweiterungen für die Warteschlange entwickeln", "Die Erweiterung öffnet die Warteschlange, liest die Warteschlange und schließt die Warteschlange."},
			{"was sind Zeitpläne", "Zeitplan", "Damit beginnt derselbe Auftrag immer wieder, zu festen Stunden und Tagen.", "Einen Zeitplan löschen", "Befehle für Zeitpläne", "Mit dem Befehl wird ein Zeitplan angelegt. Jeder Zeitplan hat einen Namen, und der Zeitplan ist eindeutig."},
			{"Was ist der Anführer?", "Anführer", "Einer der Rechner verteilt die Arbeit, und die anderen wählen ihn.", "Den Anführer wechseln", "Prüfung des Anführers", "Die Prüfung hält den Anführer an. Danach gibt es einen neuen Anführer, und der alte Anführer folgt dem Anführer."},
			{"was ist ein Schlüssel", "Schlüssel", "Wer ihn vorzeigt, darf die Schnittstelle benutzen.", "Einen Schlüssel sperren", "Werkzeuge für Schlüssel", "Das Werkzeug erzeugt den Schlüssel, prüft den Schlüssel und ersetzt den Schlüssel."},
			{"Was ist eine Sicherung", "Sicherung", "Eine Kopie aller Daten, aus der man sie wiederherstellen kann.", "Die Sicherung prüfen", "Sicherung mit fremden Programmen", "Das Programm beginnt die Sicherung, beendet die Sicherung und meldet die Sicherung."},
		},
		"fr": {
			{"Qu'est-ce qu'une file ?", "File", "Les tâches y attendent dans leur ordre, jusqu'à ce qu'une machine soit libre.", "Arrêter une file", "Écrire des modules pour une file", "Le module ouvre la file, lit la file et ferme la file. La file a un nom."},
			{"qu'est-ce que le bail", "Bail", "Le droit d'exécuter une tâche pour un temps limité, à renouveler avant la fin.", "Durée du bail", "Essais du bail", "Chaque essai prend un bail, perd le bail et reprend un bail."},
			{"c'est quoi un ouvrier", "Ouvrier", "Un programme qui exécute les tâches l'une après l'autre sur sa propre machine.", "Démarrer un ouvrier", "Journal des versions de l'ouvrier", "L'ouvrier écrit un journal. Un ouvrier arrêté prévient un autre ouvrier."},
			{"Qu'est-ce que c'est que la quarantaine ?", "Quarantaine", "Une suppression y attend qu'une personne donne son accord.", "Quitter la quarantaine", "Commandes de la quarantaine", "La commande montre la quarantaine, vide la quarantaine et compte la quarantaine."},
			{"qu'est-ce que la sauvegarde", "Sauvegarde", "Une copie de toutes les données, d'où l'on peut les rétablir.", "Vérifier la sauvegarde", "Outils pour la sauvegarde", "L'outil commence la sauvegarde, termine la sauvegarde et annonce la sauvegarde."},
		},
		"es": {
			{"¿Qué es una cola?", "Cola", "Aquí esperan los trabajos en su orden hasta que una máquina queda libre.", "Detener una cola", "Desarrollar módulos para la cola", "El módulo abre la cola, lee la cola y cierra la cola."},
			{"que es un trabajador", "Trabajador", "Un programa que ejecuta las tareas una tras otra en su propia máquina.", "Iniciar un trabajador", "Versiones del trabajador", "El trabajador escribe un registro. Un trabajador parado avisa a otro trabajador."},
			{"¿Qué es el arrendamiento?", "Arrendamiento", "El derecho a ejecutar una tarea durante un tiempo limitado.", "Duración del arrendamiento", "Pruebas del arrendamiento", "Cada prueba toma un arrendamiento, pierde el arrendamiento y vuelve a tomar un arrendamiento."},
			{"qué son los horarios", "Horario", "Con él comienza la misma tarea una y otra vez, a horas fijas.", "Borrar un horario", "Órdenes para el horario", "La orden crea un horario. Cada horario tiene un nombre y el horario es único."},
			{"¿Qué es la copia?", "Copia", "Todos los datos en otro lugar, de donde se pueden recuperar.", "Comprobar la copia", "Herramientas para la copia", "La herramienta comienza la copia, termina la copia y anuncia la copia."},
		},
		"ru": {
			{"Что такое очередь?", "Очередь", "Здесь задания ждут по порядку, пока не освободится машина.", "Остановить очередь", "Разработка модулей для очереди", "Модуль открывает очередь, читает очередь и закрывает очередь."},
			{"что такое аренда", "Аренда", "Право выполнять задание ограниченное время, которое надо продлевать.", "Длина аренды", "Проверки аренды", "Каждая проверка берёт аренду, теряет аренду и снова берёт аренду."},
			{"Что это такое карантин?", "Карантин", "Здесь удаление ждёт согласия человека.", "Покинуть карантин", "Команды карантина", "Команда показывает карантин, очищает карантин и считает карантин."},
			{"что такое расписание", "Расписание", "По нему одно и то же задание начинается снова и снова, в назначенные часы.", "Удалить расписание", "Команды расписания", "Команда создаёт расписание. Каждое расписание имеет имя, и расписание единственно."},
			{"что такое копия", "Копия", "Все данные в другом месте, откуда их можно восстановить.", "Проверить копию", "Программы для копии", "Программа начинает копию, завершает копию и сообщает о копии."},
		},
		"zh": {
			{"什么是队列", "队列", "作业在这里按顺序等待,直到有机器空闲为止。", "暂停队列", "开发队列插件", "插件打开队列,读取队列,然后关闭队列。每个队列都有名称,队列不能重名。"},
			{"租约是什么?", "租约", "在有限的时间内运行作业的权利,到期之前必须续期。", "租约的长度", "租约测试", "每个测试获取租约,失去租约,再次获取租约。"},
			{"什么是隔离区?", "隔离区", "删除操作在这里等待人的批准。", "离开隔离区", "隔离区命令", "命令显示隔离区,清空隔离区,统计隔离区。"},
			{"何谓时间表", "时间表", "同一个作业按照规定的时间反复开始。", "删除时间表", "时间表命令参考", "命令创建时间表。每个时间表都有名称,时间表是唯一的。"},
			{"备份是什么意思", "备份", "所有数据在别处的副本,可以用来恢复数据。", "检查备份", "备份工具", "工具开始备份,完成备份,并报告备份。"},
		},
	}
}

// TestWhatIsAskedForIsFoundWhereItsPageBegins puts questions to which two pages and
// several passages have the only word that counts.
func TestWhatIsAskedForIsFoundWhereItsPageBegins(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for language, subjects := range definitions() {
		id := f.tenant()
		for i, s := range subjects {
			f.add(id, fmt.Sprintf("%s/%d.md", language, i), "# "+s.title+"\n\n"+s.introduction+"\n\n## "+s.section+"\n\n"+s.text+" "+s.text+" "+s.text+" "+s.text+"\n", nil)
			f.add(id, fmt.Sprintf("%s/%d-other.md", language, i), "# "+s.other+"\n\n"+s.text+"\n\n## "+s.section+"\n\n"+s.text+"\n", nil)
		}
		for _, s := range subjects {
			r := f.search(id, search.Query{Text: s.question, MinScore: 0.5})
			if len(r.Hits) == 0 {
				t.Errorf("%q finds nothing", s.question)
				continue
			}
			if h := r.Hits[0]; h.Title != s.title || h.Text != s.introduction {
				t.Errorf("%q finds %q of %q first", s.question, h.Text, h.Title)
			}
		}
	}
}
