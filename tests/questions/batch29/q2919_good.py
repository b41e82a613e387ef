import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(18)
torch.set_num_threads(1)

VOCAB, SEQ = 30, 16


class BERT(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.token = nn.Embedding(VOCAB, hidden, padding_idx=0)
        self.segment = nn.Embedding(2, hidden)
        self.position = nn.Embedding(SEQ, hidden)
        layer = nn.TransformerEncoderLayer(hidden, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x, segment):
        h = self.token(x) + self.segment(segment) + self.position(torch.arange(x.size(1)))
        return self.encoder(h)


class BERTLM(nn.Module):
    def __init__(self, bert, hidden=32):
        super().__init__()
        self.bert = bert
        self.next_sentence = nn.Linear(hidden, 2)
        self.mask_lm = nn.Linear(hidden, VOCAB)
        self.softmax = nn.LogSoftmax(dim=-1)

    def forward(self, x, segment):
        h = self.bert(x, segment)
        return self.softmax(self.next_sentence(h[:, 0])), self.softmax(self.mask_lm(h))


def make_pairs(n):
    topic = torch.randint(0, 2, (n,))
    is_next = torch.randint(0, 2, (n,))
    second = torch.where(is_next == 1, topic, 1 - topic)
    left = 3 + topic[:, None] * 13 + torch.randint(0, 13, (n, 7))
    right = 3 + second[:, None] * 13 + torch.randint(0, 13, (n, 8))
    x = torch.cat([torch.full((n, 1), 1), left, right], dim=1)
    label = torch.zeros_like(x)
    masked = torch.rand(x.shape) < 0.15
    masked[:, 0] = False
    label[masked] = x[masked]
    x = x.masked_fill(masked, 2)
    seg = torch.cat([torch.zeros(8), torch.ones(8)]).long().expand(n, -1)
    return TensorDataset(x, seg, label, is_next)


class BERTTrainer:
    def __init__(self, model, train_loader, test_loader):
        self.model = model
        self.train_loader, self.test_loader = train_loader, test_loader
        self.optim = torch.optim.Adam(model.parameters(), lr=2e-3)
        self.criterion = nn.NLLLoss(ignore_index=0)

    def iteration(self, epoch, loader, train=True):
        self.model.train(train)
        avg_next, avg_mask, correct, total = 0.0, 0.0, 0, 0
        for x, seg, label, is_next in loader:
            next_sent, mask_lm = self.model(x, seg)
            next_loss = nn.NLLLoss()(next_sent, is_next)
            mask_loss = self.criterion(mask_lm.transpose(1, 2), label)
            loss = next_loss + mask_loss
            if train:
                self.optim.zero_grad()
                loss.backward()
                self.optim.step()
            correct += (next_sent.argmax(-1) == is_next).sum().item()
            total += len(is_next)
            avg_next += next_loss.item()
            avg_mask += mask_loss.item()
        name = "train" if train else "test "
        print(f"EP{epoch}_{name} next loss {avg_next / len(loader):.4f}  mask loss {avg_mask / len(loader):.4f}  "
              f"next acc {100 * correct / total:.1f}")

    def fit(self, epochs):
        for epoch in range(epochs):
            self.iteration(epoch, self.train_loader)
            with torch.no_grad():
                self.iteration(epoch, self.test_loader, train=False)


trainer = BERTTrainer(BERTLM(BERT()), DataLoader(make_pairs(1024), batch_size=32, shuffle=True),
                      DataLoader(make_pairs(256), batch_size=64))
trainer.fit(5)
