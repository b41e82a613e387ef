import torch
import torch.nn as nn


class CRF(nn.Module):
    def __init__(self, num_tags):
        super().__init__()
        self.start_transitions = nn.Parameter(0.1 * torch.randn(num_tags))
        self.transitions = nn.Parameter(0.1 * torch.randn(num_tags, num_tags))

    def forward(self, emissions, tags, mask):
        gold = emissions.gather(2, tags.unsqueeze(2)).squeeze(2)
        score = self.start_transitions[tags[0]] + gold[0]
        alpha = self.start_transitions + emissions[0]
        for t in range(1, len(tags)):
            score = score + (self.transitions[tags[t - 1], tags[t]] + gold[t]) * mask[t]
            step = torch.logsumexp(alpha.unsqueeze(2) + self.transitions, dim=1) + emissions[t]
            alpha = torch.where(mask[t].unsqueeze(1), step, alpha)
        return (score - torch.logsumexp(alpha, dim=1)).mean()

    def decode(self, emissions):
        alpha, history = self.start_transitions + emissions[0], []
        for t in range(1, len(emissions)):
            best, index = (alpha.unsqueeze(2) + self.transitions).max(dim=1)
            alpha = best + emissions[t]
            history.append(index)
        path = [alpha.argmax(1)]
        for index in reversed(history):
            path.append(index.gather(1, path[-1].unsqueeze(1)).squeeze(1))
        return torch.stack(path[::-1])


class BiLSTM_CRF(nn.Module):
    def __init__(self, vocab, num_tags, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, 24)
        self.lstm = nn.LSTM(24, hidden, bidirectional=True)
        self.hidden2tag = nn.Linear(2 * hidden, num_tags)
        self.crf = CRF(num_tags)

    def emissions(self, words):
        return self.hidden2tag(self.lstm(self.embed(words))[0])

    def forward(self, words, tags, mask):
        return self.crf(self.emissions(words), tags, mask)


def make_sentences(n, length=12, vocab=40):
    words = torch.randint(1, vocab, (length, n))
    mask = torch.arange(length).unsqueeze(1) < torch.randint(5, length + 1, (n,))
    begin = (words % 5 == 0) & mask
    after = torch.cat([torch.zeros(1, n, dtype=torch.bool), begin[:-1]])
    tags = torch.where(begin, 1, torch.where(after & (words % 2 == 0) & mask, 2, 0))
    return words * mask, tags, mask


def main():
    torch.manual_seed(0)
    words, tags, mask = make_sentences(600)
    test_words, test_tags, test_mask = make_sentences(200)
    model = BiLSTM_CRF(40, 3)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for epoch in range(1, 7):
        for rows in torch.randperm(words.shape[1]).split(32):
            loss = model(words[:, rows], tags[:, rows], mask[:, rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 2 == 0:
            with torch.no_grad():
                decoded = model.crf.decode(model.emissions(test_words))
            accuracy = (decoded == test_tags)[test_mask].float().mean().item()
            print(f"epoch {epoch:2d}: loss {loss.item():.3f}  tag accuracy {accuracy:.4f}")


if __name__ == "__main__":
    main()
