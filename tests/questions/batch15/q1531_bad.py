import torch
from torch import nn

NUM_ENTITIES, NUM_RELATIONS = 60, 3


def build_graph():
    torch.manual_seed(4)
    group = torch.arange(NUM_ENTITIES) % 4
    pairs = torch.cartesian_prod(torch.arange(NUM_ENTITIES), torch.arange(NUM_ENTITIES))
    triples = []
    for relation, shift in enumerate((0, 1, 2)):
        linked = (group[pairs[:, 0]] + shift) % 4 == group[pairs[:, 1]]
        kept = pairs[linked & (pairs[:, 0] != pairs[:, 1])]
        triples.append(torch.stack([kept[:, 0], torch.full((len(kept),), relation), kept[:, 1]], 1))
    triples = torch.cat(triples)
    return triples[torch.randperm(len(triples))]


def negative_sampling(pos_samples, num_entity, negative_rate, known):
    size_of_batch = len(pos_samples)
    neg_samples = pos_samples.repeat(negative_rate, 1)
    values = torch.randint(num_entity, (len(neg_samples),))
    subj = torch.rand(len(neg_samples)) > 0.5
    neg_samples[subj, 0] = values[subj]
    neg_samples[~subj, 2] = values[~subj]
    labels = torch.zeros(size_of_batch + len(neg_samples))
    labels[:size_of_batch] = 1
    return torch.cat([pos_samples, neg_samples]), labels


class LinkPredict(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.entity = nn.Embedding(NUM_ENTITIES, width)
        self.head = nn.Embedding(NUM_RELATIONS, width * width)
        self.bias = nn.Parameter(torch.zeros(NUM_RELATIONS))
        self.width = width

    def forward(self, triples):
        s, o = self.entity(triples[:, 0]), self.entity(triples[:, 2])
        r = self.head(triples[:, 1]).view(-1, self.width, self.width) / self.width
        return (s[:, None] @ r @ o[..., None]).flatten() + self.bias[triples[:, 1]]


def main():
    triples = build_graph()
    known = torch.zeros(NUM_ENTITIES, NUM_RELATIONS, NUM_ENTITIES, dtype=torch.bool)
    known[triples[:, 0], triples[:, 1], triples[:, 2]] = True
    train, test = triples[:2200], triples[2200:]
    everything = torch.cartesian_prod(*[torch.arange(n) for n in known.shape])
    false = everything[~known.flatten()]
    torch.manual_seed(0)
    model = LinkPredict()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(12):
        total, clashes, drawn = 0.0, 0, 0
        for rows in torch.randperm(len(train)).split(110):
            samples, labels = negative_sampling(train[rows], NUM_ENTITIES, 4, known)
            negatives = samples[labels == 0]
            clashes += known[negatives[:, 0], negatives[:, 1], negatives[:, 2]].sum().item()
            drawn += len(negatives)
            loss = nn.functional.binary_cross_entropy_with_logits(model(samples), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(rows)
        if epoch % 3 == 2:
            with torch.no_grad():
                hit, miss = model(test).sigmoid(), model(false).sigmoid()
            print(
                f"epoch {epoch + 1:2d}: loss {total / len(train):.4f}  true facts among the zeros {clashes / drawn:.1%}"
                f"  test: score of true {hit.mean():.3f}, over 0.5 {(hit > 0.5).float().mean():.3f};"
                f" score of false {miss.mean():.3f}"
            )


if __name__ == "__main__":
    main()
