import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, WIDTH, PAD = 24, 32, 0


class BertModel(nn.Module):
    def __init__(self, heads=4):
        super().__init__()
        self.heads = heads
        self.word, self.segment = nn.Embedding(VOCAB, WIDTH), nn.Embedding(2, WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, input_ids, token_type_ids=None, attention_mask=None):
        if attention_mask is None:
            attention_mask = torch.ones_like(input_ids)
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        extended = (1.0 - attention_mask[:, None, None, :].float()) * -10000.0
        x = self.word(input_ids) + self.segment(token_type_ids)
        q, k, v = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.qkv(x).chunk(3, dim=-1)
        )
        scores = q @ k.transpose(-2, -1) / (WIDTH // self.heads) ** 0.5 + extended
        attended = (scores.softmax(-1) @ v).transpose(1, 2).flatten(2)
        return self.norm(x + self.out(attended))


class BertEmbedder(nn.Module):
    def __init__(self, bert_model):
        super().__init__()
        self.bert_model = bert_model

    def forward(self, input_ids, token_type_ids=None):
        if token_type_ids is None:
            token_type_ids = torch.zeros_like(input_ids)
        input_mask = (input_ids != PAD).long()
        return self.bert_model(input_ids, input_mask, token_type_ids)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.text_field_embedder = BertEmbedder(BertModel())
        self.tag_projection_layer = nn.Sequential(nn.Linear(WIDTH, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, tokens):
        return self.tag_projection_layer(self.text_field_embedder(tokens))


def make_batch(n, width, generator):
    """Tag of a word: whether it is larger than the mean word of its sentence."""
    length = torch.randint(2, 9, (n, 1), generator=generator)
    tokens = torch.randint(1, VOCAB, (n, width), generator=generator)
    tokens = torch.where(torch.arange(width) < length, tokens, torch.tensor(PAD))
    mean = tokens.sum(1, keepdim=True) / length
    return tokens, (tokens > mean).long()


def accuracy(model, tokens, tags):
    with torch.no_grad():
        hits = model(tokens).argmax(-1) == tags
    return hits[tokens != PAD].float().mean().item()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Tagger()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    tokens_test, tags_test = make_batch(400, 8, generator)
    wider = F.pad(tokens_test, (0, 32), value=PAD), F.pad(tags_test, (0, 32))
    for step in range(240):
        tokens, tags = make_batch(32, int(torch.randint(8, 25, (1,), generator=generator)), generator)
        real = tokens != PAD
        loss = F.cross_entropy(model(tokens)[real], tags[real])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 60 == 59:
            near, far = accuracy(model, tokens_test, tags_test), accuracy(model, *wider)
            print(f"step {step}: loss {loss.item():.3f} accuracy {near:.3f}, padded to 40: {far:.3f}")


if __name__ == "__main__":
    main()
