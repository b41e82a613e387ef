import torch
import torch.nn as nn

torch.manual_seed(12)


class LSTMDesigner(nn.Module):
    def __init__(self, vocab=12, emb_dim=16, hidden=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, emb_dim)
        self.lstm = nn.LSTM(emb_dim, hidden, batch_first=True)
        self.out = nn.Linear(hidden, vocab)

    def forward(self, seq):
        return self.out(self.lstm(self.embed(seq))[0])


class TorchModel:
    def __init__(self, lr=1e-2, weight_decay=1e-6):
        self.net = LSTMDesigner()
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(self.net.parameters(), weight_decay)

    def fit(self, seqs, epochs, batch_size=32):
        for epoch in range(epochs):
            self.net.train()
            total, count = 0.0, 0
            for idx in torch.randperm(len(seqs)).split(batch_size):
                batch = seqs[idx]
                logits = self.net(batch[:, :-1])
                loss = self.criterion(logits.reshape(-1, logits.size(-1)), batch[:, 1:].reshape(-1))
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
                count += 1
            if (epoch + 1) % 3 == 0:
                print(f"epoch {epoch + 1} loss {total / count:.4f}")

    def next_token_accuracy(self, seqs):
        self.net.eval()
        with torch.no_grad():
            return (self.net(seqs[:, :-1]).argmax(-1) == seqs[:, 1:]).float().mean().item()


def make_sequences(n, length=12):
    start = torch.randint(0, 12, (n, 1))
    pace = torch.randint(1, 3, (n, 1))
    return (start + pace * torch.arange(length)) % 12


model = TorchModel(lr=1e-2)
model.fit(make_sequences(400), epochs=15)
print("next token accuracy", round(model.next_token_accuracy(make_sequences(200)), 3))
