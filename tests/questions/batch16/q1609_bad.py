import torch
import torch.nn as nn
import torch.nn.functional as F


class Teacher(nn.Module):
    def __init__(self, transitions):
        super().__init__()
        self.table = nn.Embedding.from_pretrained(transitions.log(), freeze=True)

    def forward(self, input_ids):
        return self.table(input_ids)


class Student(nn.Module):
    def __init__(self, vocab, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True)
        self.lm_head = nn.Linear(hidden, vocab)

    def forward(self, input_ids):
        return self.lm_head(self.rnn(self.embed(input_ids))[0])


def tcs_loss(student_logits, teacher_logits, temperature):
    aligned_teacher_logits = teacher_logits[:, :-1, :].flatten(0, 1)
    aligned_student_logits = student_logits[:, 1:, :].flatten(0, 1)
    student_log_probs = F.log_softmax(aligned_student_logits / temperature, dim=-1)
    teacher_probs = F.softmax(aligned_teacher_logits / temperature, dim=-1)
    return F.kl_div(student_log_probs, teacher_probs, reduction="batchmean") * temperature**2


def sample_text(n, length, transitions):
    tokens = [torch.randint(len(transitions), (n,))]
    for _ in range(length - 1):
        tokens.append(torch.multinomial(transitions[tokens[-1]], 1).squeeze(1))
    return torch.stack(tokens, dim=1)


def evaluate(student, teacher, input_ids):
    with torch.no_grad():
        logits = student(input_ids)[:, :-1]
        ce = F.cross_entropy(logits.flatten(0, 1), input_ids[:, 1:].flatten()).item()
        same = (logits.argmax(-1) == teacher(input_ids)[:, :-1].argmax(-1)).float().mean().item()
    return ce, same


def main():
    torch.manual_seed(0)
    vocab, lambda_tcs, temperature = 24, 10.0, 2.0
    transitions = F.softmax(3.0 * torch.randn(vocab, vocab), dim=1)
    train, val = sample_text(800, 20, transitions), sample_text(200, 20, transitions)
    teacher, student = Teacher(transitions), Student(vocab)
    optimizer = torch.optim.AdamW(student.parameters(), lr=3e-3)
    for epoch in range(1, 13):
        for rows in torch.randperm(len(train)).split(32):
            input_ids = train[rows]
            with torch.no_grad():
                teacher_logits = teacher(input_ids)
            student_logits = student(input_ids)
            ce_loss = F.cross_entropy(student_logits[:, :-1].flatten(0, 1), input_ids[:, 1:].flatten())
            kl_loss = tcs_loss(student_logits, teacher_logits, temperature)
            loss = ce_loss + lambda_tcs * kl_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            ce, same = evaluate(student, teacher, val)
            print(
                f"epoch {epoch:2d}: loss {loss.item():.3f}  tcs {kl_loss.item():.4f}  val ce {ce:.4f}"
                f"  val ce of the teacher {F.cross_entropy(teacher(val)[:, :-1].flatten(0, 1), val[:, 1:].flatten()):.4f}"
                f"  same top token as the teacher {same:.3f}"
            )


if __name__ == "__main__":
    main()
