import torch
import torch.nn as nn


class SkipgramNegSampling(nn.Module):
    def __init__(self, vocab_size, projection_dim):
        super().__init__()
        self.embedding_v = nn.Embedding(vocab_size, projection_dim)
        self.embedding_u = nn.Embedding(vocab_size, projection_dim)
        self.logsigmoid = nn.LogSigmoid()
        self.embedding_v.weight.data.uniform_(-0.1, 0.1)
        self.embedding_u.weight.data.uniform_(-0.1, 0.1)

    def forward(self, center_words, target_words, negative_words):
        center_embeds = self.embedding_v(center_words)
        target_embeds = self.embedding_u(target_words)
        neg_embeds = -self.embedding_u(negative_words)
        positive_score = target_embeds.bmm(center_embeds.transpose(1, 2)).squeeze(2)
        negative_score = neg_embeds.bmm(center_embeds.transpose(1, 2)).squeeze(2)
        loss = self.logsigmoid(positive_score) + torch.sum(self.logsigmoid(negative_score), 1).view(-1, 1)
        return -torch.mean(loss)


def make_pairs(n, vocab_size, topics=10):
    topic = torch.arange(vocab_size) % topics
    words = [torch.nonzero(topic == k).flatten() for k in range(topics)]
    k = torch.randint(topics, (n,))
    stacked = torch.stack(words)
    size = stacked.shape[1]
    center = stacked[k, torch.randint(size, (n,))]
    target = stacked[k, torch.randint(size, (n,))]
    stray = torch.rand(n) < 0.3
    target[stray] = torch.randint(vocab_size, (int(stray.sum()),))
    return center.view(-1, 1), target.view(-1, 1), topic


def objective(scores, topic, negatives):
    same = (topic.view(-1, 1) == topic.view(1, -1)).float()
    positive = (nn.functional.logsigmoid(scores) * same).sum() / same.sum()
    return (positive + negatives * nn.functional.logsigmoid(-scores).mean()).item()


def main():
    torch.manual_seed(0)
    vocab_size, negatives = 200, 10
    center, target, topic = make_pairs(12000, vocab_size)
    model = SkipgramNegSampling(vocab_size, 20)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 13):
        for rows in torch.randperm(len(center)).split(256):
            negs = torch.randint(vocab_size, (len(rows), negatives))
            loss = model(center[rows], target[rows], negs)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 0:
            with torch.no_grad():
                scores = model.embedding_v.weight @ model.embedding_u.weight.t()
                other = topic.view(-1, 1) != topic.view(1, -1)
                positive = (scores[other] > 0).float().mean().item()
            print(
                f"epoch {epoch:2d}: loss {loss.item():.4f}  pairs of unrelated words scored above 0: {positive:.3f}"
                f"  largest of them {scores[other].max().item():.2f}"
                f"  skip-gram objective {objective(scores, topic, negatives):.4f}"
            )


if __name__ == "__main__":
    main()
