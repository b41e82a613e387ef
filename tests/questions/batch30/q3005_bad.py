import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.set_num_threads(1)
torch.manual_seed(0)

VOCAB, CLASSES, MAXLEN = 60, 4, 14


def make_data(n):
    y = torch.randint(0, CLASSES, (n,))
    lengths = torch.randint(4, MAXLEN + 1, (n,))
    text = torch.randint(10, VOCAB, (n, MAXLEN))
    for i in range(n):
        where = torch.randperm(int(lengths[i]))[:2]
        text[i, where] = 1 + y[i]
        text[i, lengths[i]:] = 0
    return text, lengths, y


class RnnModel(nn.Module):
    def __init__(self, embedding_dim=24, hidden_dim=24):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embedding_dim, padding_idx=0)
        self.rnn = nn.LSTM(embedding_dim, hidden_dim, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(hidden_dim * 2, CLASSES)

    def forward(self, text, text_lengths):
        sorted_lengths, sorted_indices = torch.sort(text_lengths, descending=True)
        _, desorted_indices = torch.sort(sorted_indices)
        embedded = self.embedding(text[sorted_indices])
        packed = pack_padded_sequence(embedded, sorted_lengths, batch_first=True)
        packed_output, (hidden, cell) = self.rnn(packed)
        output, _ = pad_packed_sequence(packed_output, batch_first=True)
        output = output[desorted_indices]
        hidden = torch.cat((hidden[-2], hidden[-1]), dim=1)
        return self.fc(hidden), output


train_x, train_len, train_y = make_data(1024)
test_x, test_len, test_y = make_data(256)
model = RnnModel()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(6):
    model.train()
    total, correct = 0.0, 0
    for idx in torch.randperm(1024).split(64):
        logits, _ = model(train_x[idx], train_len[idx])
        loss = F.cross_entropy(logits, train_y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
        correct += (logits.argmax(1) == train_y[idx]).sum().item()
    model.eval()
    with torch.no_grad():
        logits, _ = model(test_x, test_len)
        acc = (logits.argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {total / 1024:.3f} acc {correct / 1024:.3f} test acc {acc:.3f}")
