import resource

import torch
from torch import nn

torch.manual_seed(0)

TAGS = 4


class BiLSTMTagger(nn.Module):
    def __init__(self, vocab_size, embedding_dim=16, hidden_dim=32):
        super().__init__()
        self.word_embeds = nn.Embedding(vocab_size, embedding_dim)
        self.lstm = nn.LSTM(embedding_dim, hidden_dim // 2, bidirectional=True)
        self.hidden2tag = nn.Linear(hidden_dim, TAGS)
        self.transitions = nn.Parameter(torch.randn(TAGS, TAGS))

    def _get_lstm_features(self, sentence):
        embeds = self.word_embeds(sentence).unsqueeze(1)
        out, _ = self.lstm(embeds)
        return self.hidden2tag(out.squeeze(1))

    def _forward_alg(self, feats):
        alpha = feats[0]
        for feat in feats[1:]:
            alpha = torch.logsumexp(alpha.unsqueeze(1) + self.transitions, dim=0) + feat
        return torch.logsumexp(alpha, dim=0)

    def _score_sentence(self, feats, tags):
        score = feats.gather(1, tags.unsqueeze(1)).sum()
        return score + self.transitions[tags[:-1], tags[1:]].sum()

    def neg_log_likelihood(self, sentence, tags):
        feats = self._get_lstm_features(sentence)
        return self._forward_alg(feats) - self._score_sentence(feats, tags)


def make_corpus(n=60, vocab_size=30):
    corpus = []
    for _ in range(n):
        words = torch.randint(0, vocab_size, (10,))
        corpus.append((words, words % TAGS))
    return corpus


def main():
    corpus = make_corpus()
    model = BiLSTMTagger(30)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, weight_decay=1e-4)
    sum_log_likelihood, seen = 0.0, 0
    first = None
    for epoch in range(1, 6):
        for sentence, tags in corpus:
            model.zero_grad()
            neg_log_likelihood = model.neg_log_likelihood(sentence, tags)
            sum_log_likelihood += neg_log_likelihood.item()
            seen += 1
            neg_log_likelihood.backward()
            optimizer.step()
        used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        first = used if first is None else first
        print(
            f"epoch {epoch}: mean loss so far {float(sum_log_likelihood) / seen:.4f}, memory +{used - first:.1f} MB"
        )


if __name__ == "__main__":
    main()
