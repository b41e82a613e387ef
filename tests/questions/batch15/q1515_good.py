import torch
import torch.nn as nn
import torch.nn.functional as F


class DynamicMetaEmbedding(nn.Module):
    def __init__(self, tables, emb_dim, emb_dropout):
        super().__init__()
        self.emb_dropout = emb_dropout
        self.tables = nn.ModuleList(nn.Embedding.from_pretrained(t, freeze=True) for t in tables)
        self.projectors = nn.ModuleList(nn.Linear(t.shape[1], emb_dim) for t in tables)
        self.scalar_attn = nn.Linear(emb_dim, 1)

    def forward(self, words):
        projected = torch.stack([p(t(words)) for t, p in zip(self.tables, self.projectors)], dim=2)
        attn = F.softmax(self.scalar_attn(projected), dim=2)
        out = (attn * projected).sum(dim=2)
        return F.dropout(F.relu(out), p=self.emb_dropout, training=self.training)


class SentenceClassifier(nn.Module):
    def __init__(self, tables, classes, emb_dim=48, hidden=24):
        super().__init__()
        self.embedder = DynamicMetaEmbedding(tables, emb_dim, emb_dropout=0.5)
        self.encoder = nn.LSTM(emb_dim, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.classifier = nn.Linear(2 * hidden, classes)

    def forward(self, words):
        encoded, _ = self.encoder(self.embedder(words))
        return self.classifier(self.dropout(encoded.max(dim=1)[0]))


def make_sentences(n, topic_of, classes, length=10):
    labels = torch.randint(classes, (n,))
    words = torch.randint(len(topic_of), (n, length))
    for row, label in zip(words, labels):
        own = (topic_of == label).nonzero().squeeze(1)
        where = torch.randperm(length)[:2]
        row[where] = own[torch.randint(len(own), (2,))]
    return words, labels


@torch.no_grad()
def evaluate(model, words, labels):
    model.eval()
    pred = model(words).argmax(1)
    model.train()
    return pred, (pred == labels).float().mean().item()


def main():
    torch.manual_seed(0)
    classes, vocab = 4, 300
    topic_of = torch.cat([torch.arange(classes).repeat(8), torch.full((vocab - 8 * classes,), classes)])
    tables = [torch.randn(vocab, 20), torch.randn(vocab, 30)]
    train_x, train_y = make_sentences(1600, topic_of, classes)
    val_x, val_y = make_sentences(500, topic_of, classes)
    model = SentenceClassifier(tables, classes)
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=4e-3)
    for epoch in range(1, 11):
        for rows in torch.randperm(len(train_x)).split(50):
            loss = F.cross_entropy(model(train_x[rows]), train_y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 2 == 0:
            first, accuracy = evaluate(model, val_x, val_y)
            again, repeated = evaluate(model, val_x, val_y)
            same = (first == again).float().mean().item()
            print(
                f"epoch {epoch:2d}: loss {loss.item():.3f}  val acc {accuracy:.3f}  "
                f"evaluated again {repeated:.3f}  same predictions {same:.3f}"
            )


if __name__ == "__main__":
    main()
