import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)

VOCAB, DIM, TOPICS = 400, 24, 5
TOPIC_OF_WORD = torch.randint(0, TOPICS, (VOCAB,))


def pretrained_vectors():
    centers = torch.randn(TOPICS, DIM)
    return centers[TOPIC_OF_WORD] + 0.4 * torch.randn(VOCAB, DIM)


class EmbedLayer(nn.Module):
    def __init__(self, num_embeddings, embedding_dim, dropout=0.0, pretrained=None, freeze=False):
        super().__init__()
        self.freeze = freeze
        self.embedding = nn.Embedding(num_embeddings, embedding_dim)
        self.drop = nn.Dropout(dropout)
        if pretrained is not None:
            self.load_pretrained(pretrained)

    def load_pretrained(self, pretrained):
        self.embedding = nn.Embedding.from_pretrained(pretrained, freeze=self.freeze)

    def forward(self, xs):
        return self.drop(self.embedding(xs))


class Classifier(nn.Module):
    def __init__(self, vectors):
        super().__init__()
        self.word_embed = EmbedLayer(VOCAB, DIM, 0.1, vectors, freeze=True)
        self.out = nn.Sequential(nn.Linear(DIM, 32), nn.ReLU(), nn.Linear(32, TOPICS))

    def forward(self, tokens):
        return self.out(self.word_embed(tokens).mean(1))


def documents(n, length=12):
    label = torch.randint(0, TOPICS, (n,))
    tokens = torch.randint(0, VOCAB, (n, length))
    for i in range(n):
        own = (TOPIC_OF_WORD == label[i]).nonzero().flatten()
        tokens[i, :5] = own[torch.randint(0, len(own), (5,))]
    return tokens, label


def main():
    vectors = pretrained_vectors()
    model = Classifier(vectors)
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(params, lr=3e-3)
    loader = DataLoader(TensorDataset(*documents(400)), batch_size=20, shuffle=True)
    dev = documents(300)
    for epoch in range(12):
        model.train()
        total = 0.0
        for tokens, label in loader:
            loss = F.cross_entropy(model(tokens), label)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            acc = (model(dev[0]).argmax(1) == dev[1]).float().mean().item()
        if epoch % 3 == 2:
            print(f"epoch {epoch} loss {total / len(loader):.4f} dev {acc:.3f}")


if __name__ == "__main__":
    main()
