import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(8)
J, VOCAB, LATENT = 4, 60, 16


class CDSSM(nn.Module):
    def __init__(self):
        super().__init__()
        self.query_conv = nn.Conv1d(VOCAB, 48, 3, padding=1)
        self.query_sem = nn.Linear(48, LATENT)
        self.doc_conv = nn.Conv1d(VOCAB, 48, 3, padding=1)
        self.doc_sem = nn.Linear(48, LATENT)
        self.learn_gamma = nn.Parameter(torch.tensor(5.0))

    def encode(self, x, conv, sem):
        h = torch.tanh(conv(x.transpose(1, 2))).max(dim=2).values
        return torch.tanh(sem(h))

    def forward(self, q, pos, negs):
        q_s = self.encode(q, self.query_conv, self.query_sem)
        dots = [F.cosine_similarity(q_s, self.encode(d, self.doc_conv, self.doc_sem)) for d in [pos] + negs]
        with_gamma = self.learn_gamma * torch.stack(dots, dim=1)
        return F.softmax(with_gamma, dim=1)


def one_hot(topic, length):
    words = topic[:, None] * 6 + torch.randint(0, 6, (len(topic), length))
    noise = torch.rand(words.shape) < 0.3
    words = torch.where(noise, torch.randint(0, VOCAB, words.shape), words)
    return F.one_hot(words, VOCAB).float()


def make_batch(n):
    topic = torch.randint(0, 10, (n,))
    negs = [one_hot((topic + torch.randint(1, 10, (n,))) % 10, 8) for _ in range(J)]
    return one_hot(topic, 5), one_hot(topic, 8), negs


model = CDSSM()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(400):
    q, pos, negs = make_batch(32)
    y_pred = model(q, pos, negs)
    loss = criterion(y_pred, torch.zeros(32, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        with torch.no_grad():
            acc = (model(*make_batch(400)).argmax(1) == 0).float().mean().item()
        print(f"step {step + 1} loss {loss.item():.4f} acc {acc:.3f}")
